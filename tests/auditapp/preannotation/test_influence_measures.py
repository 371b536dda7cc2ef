"""The figures of influence against AC30, and at their edges."""

from __future__ import annotations

import pytest

from auditapp.preannotation.evaluation.pure.figures import Tally, measure_influence
from transcripts.statistics.intervals import newcombe_interval

AC30 = Tally(
    shown_same=45,
    shown_n=60,
    withheld_same=30,
    withheld_n=60,
    differed=24,
    changed_to=9,
    agreed=36,
    changed_away=1,
)


def test_the_figures_are_those_of_the_published_check() -> None:
    found = measure_influence(AC30)
    assert found["agreement_shown"].value == pytest.approx(0.75)
    assert found["agreement_withheld"].value == pytest.approx(0.5)
    assert found["difference"] == pytest.approx(0.25)
    assert found["difference_interval"] == pytest.approx((0.07678, 0.403461), abs=5e-6)
    assert found["p_chi2"] == pytest.approx(0.004678, abs=5e-7)
    assert found["switch"].value == pytest.approx(0.375)
    assert found["switch"].interval == pytest.approx((0.211594, 0.5729), abs=5e-6)
    assert found["p_mcnemar"] == pytest.approx(0.021484, abs=5e-7)


def test_nothing_counted_gives_no_figure() -> None:
    found = measure_influence(Tally())
    assert (found["difference"], found["difference_interval"], found["p_chi2"], found["p_mcnemar"]) == (
        None,
        None,
        None,
        None,
    )
    assert (found["switch"].value, found["switch"].interval) == (None, None)


def test_without_a_withheld_arm_there_is_no_difference_but_a_switch_rate() -> None:
    found = measure_influence(AC30._replace(withheld_same=0, withheld_n=0))
    assert found["difference"] is None
    assert found["agreement_shown"].value == pytest.approx(0.75)
    assert found["switch"].value == pytest.approx(0.375)


def test_agreement_that_is_whole_in_both_arms_has_no_test() -> None:
    found = measure_influence(Tally(shown_same=5, shown_n=5, withheld_same=7, withheld_n=7))
    assert found["difference"] == 0
    assert found["p_chi2"] is None


def test_counts_that_are_no_part_of_their_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="7 of 6"):
        measure_influence(Tally(shown_same=7, shown_n=6))


def test_the_difference_of_shares_has_newcombes_published_interval() -> None:
    """Newcombe 1998 (Statistics in Medicine 17:873), table II, contrast (a), method 10: 56 of 70 and 48 of 80."""
    assert newcombe_interval(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
