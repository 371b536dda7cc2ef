from types import SimpleNamespace

import pytest
from scipy.stats import friedmanchisquare

from auditapp.benchmarks.sob.pure.instruments import TARGETS, published_rows
from auditapp.benchmarks.sob.pure.ranks import compare_targets, merge_families, rank_blocks
from auditapp.benchmarks.sob.pure.report import PUBLISHED_FAMILIES


def read_published(task):
    return {row.model: dict(row.by_target) for row in published_rows() if row.task == task}


def compare(scores, targets, **how):
    """A test with its figures as attributes."""
    return SimpleNamespace(**compare_targets(scores, targets, **how))


def compare_published(task, *, families=False):
    scores = read_published(task)
    if families:
        return compare(merge_families(scores, PUBLISHED_FAMILIES), TARGETS, task=task, blocks="families")
    return compare(scores, TARGETS, task=task)


# Worked examples AC04, AC05 and AC08.
@pytest.mark.parametrize(
    ("task", "families", "chi2", "p", "w", "blocks", "f", "f_p"),
    [
        ("acceptability", False, 29.951436, 0.000447147, 0.277328, 12, 4.221292, 0.000120753),
        ("non_acceptability", False, 34.687595, 6.76356e-05, 0.321181, 12, 5.204625, 8.78172e-06),
        ("acceptability", True, 27.26692, 0.001263, 0.378707, 8, 4.26683, 0.000236986),
        ("non_acceptability", True, 26.904328, 0.001451, 0.373671, 8, 4.176239, 0.000292807),
    ],
)
def test_worked_examples_of_the_friedman_test_hold_to_six_digits(task, families, chi2, p, w, blocks, f, f_p):
    found = compare_published(task, families=families)
    assert found.chi2 == pytest.approx(chi2, abs=5e-7)
    assert found.p == pytest.approx(p, abs=5e-7)
    assert found.kendalls_w == pytest.approx(w, abs=5e-7)
    assert (found.df, found.n_blocks, found.k_treatments) == (9, blocks, 10)
    assert found.iman_davenport_f == pytest.approx(f, abs=5e-7)
    assert found.iman_davenport_p == pytest.approx(f_p, abs=5e-10)
    assert found.iman_davenport_df == (9, 9 * (blocks - 1))


# Worked examples AC06 and AC07.
@pytest.mark.parametrize(
    ("task", "ranks", "order"),
    [
        (
            "acceptability",
            [4.791667, 4.208333, 4.916667, 5.291667, 7.125, 6.5, 2.583333, 6.583333, 7.958333, 5.041667],
            "mexican immigrant asian black jew arab women muslim lgbtq disabled",
        ),
        (
            "non_acceptability",
            [3.833333, 4.875, 4.416667, 4.666667, 7.583333, 5.708333, 2.916667, 6.125, 8.541667, 6.333333],
            "mexican immigrant arab asian black lgbtq jew women muslim disabled",
        ),
    ],
)
def test_worked_examples_of_mean_ranks_hold_and_rank_ten_is_the_highest_score(task, ranks, order):
    found = compare_published(task).mean_ranks
    assert list(found) == list(TARGETS)
    assert list(found.values()) == pytest.approx(ranks, abs=5e-7)
    assert sorted(found, key=lambda target: -found[target]) == order.split()
    assert sum(found.values()) == pytest.approx(55)


def test_friedman_with_many_ties_agrees_with_scipy():
    rows = [[0, 0, 1, 2], [0, 0, 0, 1], [3, 1, 1, 2], [0, 2, 2, 2], [1, 1, 0, 5], [2, 2, 0, 0]]
    scores = {str(number): dict(zip("abcd", map(float, row), strict=True)) for number, row in enumerate(rows)}
    expected = friedmanchisquare(*zip(*rows, strict=True))
    found = compare(scores, "abcd", task="t")
    assert (found.chi2, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.ties_corrected


def test_model_with_an_undefined_cell_is_left_out_whole_and_named():
    scores = read_published("acceptability")
    without = {model: row for model, row in scores.items() if model != "gemma27b"}
    scores["gemma27b"]["arab"] = None
    found = compare(scores, TARGETS, task="acceptability")
    assert (found.n_blocks, found.dropped) == (11, ("gemma27b",))
    assert found.chi2 == compare(without, TARGETS, task="acceptability").chi2
    assert found.warnings == ("Left out, for a target without a score: gemma27b.",)


def test_fewer_than_three_targets_or_two_models_are_refused_with_the_reason():
    scores = read_published("acceptability")
    few = compare(scores, TARGETS[:2], task="t")
    assert (few.chi2, few.p, few.kendalls_w, few.iman_davenport_f) == (None,) * 4
    assert few.warnings[0] == "No Friedman test: it needs at least 3 targets, but there are only 2."
    alone = compare({"llama8b": scores["llama8b"]}, TARGETS, task="t")
    assert alone.chi2 is None
    assert alone.warnings[0].endswith("2 models with a score for every target, but there are only 1.")
    nobody = compare({}, TARGETS, task="t")
    assert (nobody.n_blocks, nobody.mean_ranks) == (0, {})


def test_blocks_that_tell_no_targets_apart_are_refused():
    scores = {model: dict.fromkeys("abc", 0.0) for model in ("m", "n")}
    found = compare(scores, "abc", task="t")
    assert (found.chi2, found.mean_ranks) == (None, {"a": 2.0, "b": 2.0, "c": 2.0})
    assert "all targets are tied" in found.warnings[0]


def test_full_agreement_has_the_highest_chi2_and_no_finite_f():
    scores = {str(model): {"a": 1.0 + model, "b": 2.0 + model, "c": 3.0 + model} for model in range(6)}
    found = compare(scores, "abc", task="t")
    assert (found.chi2, found.kendalls_w) == (12.0, 1.0)
    assert (found.iman_davenport_f, found.iman_davenport_p) == (None, 0.0)
    assert "the Iman-Davenport F is infinite" in found.warnings[-1]


def test_few_blocks_are_warned_of():
    assert compare_published("acceptability").warnings == ()
    [warning] = compare_published("acceptability", families=True).warnings
    assert warning.startswith("Only 8 families: with fewer than 10")


@pytest.mark.parametrize(("blocks", "told"), [(2, True), (5, True), (6, False)])
def test_so_few_blocks_carry_neither_test(blocks, told):
    scores = {str(model): {"a": 1.0, "b": 2.0, "c": 3.0 - 4 * (model % 2)} for model in range(blocks)}
    found = compare(scores, "abc", task="t")
    [warning] = found.warnings
    assert ("too few blocks for either test" in warning) is told
    assert (found.p is None, found.iman_davenport_p is None, found.chi2 is None) == (told, told, False)
    assert ("see the Iman-Davenport F" in warning) is not told


def test_family_is_the_mean_of_its_members_without_the_noise_of_adding():
    scores = {
        "x-I": {"a": 0.1, "b": 0.3, "c": 1.0},
        "x-T": {"a": 0.2, "b": 0.0, "c": None},
        "y": {"a": 0.15, "b": 0.15, "c": 0.15},
    }
    merged = merge_families(scores, {"x-I": "x", "x-T": "x"})
    assert merged == {"x": {"a": 0.15, "b": 0.15, "c": None}, "y": scores["y"]}
    assert rank_blocks(merged, "ab").ranks == [[1.5, 1.5], [1.5, 1.5]]
