"""The words beside a figure follow one plain rule for each kind of figure."""

import math

import pytest

from transcripts.charts.figures import (
    Tone,
    judge_against,
    judge_cap,
    judge_cases,
    judge_difference,
    judge_lead,
    judge_ratio,
    judge_reliability,
    judge_steadiness,
    judge_within,
    summarise,
)
from transcripts.statistics.figures import round_percent


@pytest.mark.parametrize(
    ("value", "low", "cases", "words"),
    [
        (0.9, 0.7, 9, "few turns: 9, a verdict needs 10"),
        (None, None, 0, "few turns: 0, a verdict needs 10"),
        (None, None, 10, "not defined"),
        (math.nan, None, 10, "not defined"),
        (0.8, 0.667, 10, "usable"),
        (0.8, 0.6, 10, "cannot tell"),
        (0.82, -0.01, 10, "cannot tell"),
        (0.799, 0.7, 10, "tentative"),
        (0.799, 0.667, 10, "tentative"),
        (0.667, 0.5, 10, "cannot tell"),
        (1.0, None, 10, "cannot tell: no interval"),
        (0.666, 0.6, 10, "not usable"),
        (-0.1, None, 10, "not usable"),
    ],
)
def test_agreement_is_judged_by_alpha_its_interval_and_the_cases(value, low, cases, words):
    assert judge_reliability(value, low, cases).words == words


def test_a_verdict_names_the_figures_below_the_threshold():
    assert judge_against({"F1": 0.6, "kappa": 0.6}, 0.6, 10).words == "usable"
    assert judge_against({"F1": 0.59, "kappa": 0.2}, 0.6, 10).words == "not usable: F1 and kappa"
    assert judge_against({"F1": 0.9, "kappa": None}, 0.6, 10).words == "usable"
    assert judge_against({"F1": None, "kappa": math.nan}, 0.6, 10).words == "not defined"
    assert judge_against({"F1": 0.9}, 0.6, 8).words == "few cases: 8, a verdict needs 10"


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((0.1, 0.2), "more"),
        ((-0.2, -0.1), "less"),
        ((0.0, 0.2), "cannot tell"),
        ((-0.1, 0.1), "cannot tell"),
        ((math.nan, 0.1), "not defined"),
        (None, "not defined"),
    ],
)
def test_a_difference_counts_where_its_interval_leaves_out_nought(interval, words):
    assert judge_difference(interval, more="more", less="less").words == words


def test_a_ratio_that_nothing_bounds_cannot_tell():
    words = {"more": "more", "less": "less"}
    assert judge_ratio(0.5, (0.2, 0.9), **words).words == "less"
    assert judge_ratio(1.0, None, **words).words == "cannot tell: no interval"
    assert judge_ratio(None, None, **words).words == "not defined"


def test_the_other_rules():
    assert judge_cases(10) is None
    assert judge_within(0.5, (0.4, 0.6)).tone == Tone.GOOD
    assert judge_within(0.7, (0.4, 0.6)).words == "outside the interval"
    assert judge_within(None, (0.4, 0.6)).words == "not defined"
    assert [judge_steadiness(same, n).words for same, n in ((9, 9), (9, 10), (8, 10))] == [
        "few cases: 9, a verdict needs 10",
        "steady",
        "moved",
    ]
    assert [judge_lead(first, n).words for first, n in ((5, 9), (5, 10), (4, 10))] == [
        "few answers: 9, a verdict needs 10",
        "one value leads",
        "mixed",
    ]


def test_a_summary_counts_verdicts_and_leaves_out_their_details():
    verdicts = [judge_cases(8), judge_cases(3), None, judge_reliability(0.9, 0.8, 12)]
    assert summarise(verdicts, "codes") == "Of 3 codes: 2 with few cases, 1 usable."
    assert summarise(verdicts[:1], "codes") == ""
    assert summarise([], "codes") == ""


def test_spending_is_judged_against_its_cap():
    said = [judge_cap(spent, 1000, percent=round_percent(spent, 1000)).words for spent in (0, 799, 800, 1000, 1001)]
    assert said == ["0 % of the cap", "80 % of the cap", "near the cap: 80 % of the cap", "cap reached", "cap reached"]
    assert judge_cap(0, 0, percent=0).words == "cap reached"
