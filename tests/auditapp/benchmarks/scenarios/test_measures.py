"""Figures of sessions, held against numbers worked out apart from the code and against statsmodels."""

import json
from collections import Counter
from io import StringIO
from itertools import product

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from auditapp.benchmarks.scenarios.pure.measures import (
    SessionOutcome,
    measure_comparisons,
    measure_groups,
    measure_retention,
    report_sessions,
)
from tests.support.worked_examples import read_example
from transcripts.formats.comparisons import judge_comparison


def session_pair(case, prompted, unprompted, repeat=1):
    return [
        SessionOutcome(case, "m", condition, repeat, outcome)
        for condition, outcome in (("prompted", prompted), ("unprompted", unprompted))
    ]


def session_table(both, prompted_only, unprompted_only, neither):
    sides = [(True, True)] * both + [(True, False)] * prompted_only
    sides += [(False, True)] * unprompted_only + [(False, False)] * neither
    return [session for number, each in enumerate(sides) for session in session_pair(f"c{number}", *each)]


def test_retention_is_the_unprompted_rate_over_the_prompted_one():
    figures = measure_retention(session_table(24, 20, 2, 14))["m"]

    assert figures["prompted"]["rate"] == pytest.approx(44 / 60)
    assert figures["retention"]["value"] == pytest.approx(26 / 44)
    assert figures["retention"]["ci"] == pytest.approx([0.450278, 0.775463], abs=1e-6)
    assert figures["p_mcnemar"] == pytest.approx(mcnemar([[24, 20], [2, 14]], exact=True).pvalue)


def test_a_pair_without_an_outcome_on_one_side_is_left_out_and_counted():
    figures = measure_retention(
        [*session_pair("a", True, True), *session_pair("b", True, None), *session_pair("c", None, None)]
    )

    assert (figures["m"]["pairs"], figures["m"]["left_out"]) == (1, 2)


def test_a_case_that_was_played_under_one_condition_makes_no_pair():
    assert measure_retention(session_pair("a", True, True)[:1]) == {}


def test_a_condition_of_any_name_is_held_against_the_unprompted():
    sessions = [*session_table(3, 1, 1, 1), *(SessionOutcome(f"c{n}", "m", "careful", 1, n < 5) for n in range(8))]

    figures = measure_retention(sessions)

    assert (figures["m, careful"]["pairs"], figures["m, careful"]["unpaired"]) == (6, 2)
    assert figures["m, careful"]["prompted"]["rate"] == pytest.approx(5 / 6)
    assert figures["m"]["unpaired"] == 0


def test_nothing_right_with_the_prompt_leaves_no_ratio():
    assert measure_retention(session_table(0, 0, 3, 4))["m"]["retention"]["value"] is None


def repeat_table(table, repeats):
    return [
        session
        for number, sides in enumerate(table)
        for repeat in range(1, repeats + 1)
        for session in session_pair(f"c{number}", *sides, repeat)
    ]


TWELVE = [(True, True)] * 4 + [(True, False)] * 6 + [(False, False)] * 2


def test_asking_the_same_ten_times_is_no_more_evidence():
    once, often = (measure_retention(repeat_table(TWELVE, repeats))["m"] for repeats in (1, 10))

    assert often["retention"]["value"] == pytest.approx(0.4)
    assert often["retention"]["ci"] == pytest.approx(once["retention"]["ci"])
    for side in ("prompted", "unprompted"):
        assert often[side]["rate"] == pytest.approx(once[side]["rate"])
        assert often[side]["ci"] == pytest.approx(once[side]["ci"])
    # Six cases changed, all one way.
    assert [often["p_mcnemar"], once["p_mcnemar"]] == pytest.approx([2 / 64, 2 / 64])
    assert (once["pairs"], often["pairs"], often["cases"]) == (12, 120, 12)


def test_repeats_are_averaged_within_their_case():
    sides = {"a": "10 11", "b": "11 11", "c": "00 11", "d": "10 10"}
    sessions = [
        SessionOutcome(f"{case}{copy}", "m", condition, repeat, each == "1")
        for case, both in sides.items()
        for copy in range(3)
        for condition, outcomes in zip(("unprompted", "prompted"), both.split(), strict=True)
        for repeat, each in enumerate(outcomes, 1)
    ]

    figures = measure_retention(sessions)["m"]

    # By hand: means without and with the prompt are .5 1 0 .5 and 1 1 1 .5.
    u, p = np.array([0.5, 1, 0, 0.5] * 3), np.array([1, 1, 1, 0.5] * 3)
    spread = 1.959964 * np.sqrt(((u / 6 - p / 10.5) ** 2).sum())
    assert figures["retention"]["value"] == pytest.approx(2 / 3.5)
    assert figures["retention"]["ci"] == pytest.approx([2 / 3.5 * np.exp(-spread), 2 / 3.5 * np.exp(spread)])
    assert figures["unprompted"]["rate"] == pytest.approx(0.5)
    # Differences 1 and .5, three each: of the 64 tosses of their signs, two are as far from 0 as 4.5.
    assert figures["p_mcnemar"] == pytest.approx(2 / 64)


def test_the_interval_over_repeated_cases_misses_as_seldom_as_it_says():
    draws, missed, defined = np.random.default_rng(3), 0, 0
    for _ in range(400):
        chances = draws.beta(0.6, 0.4, 12)
        sessions = [
            SessionOutcome(str(case), "m", condition, repeat, bool(draws.random() < chance))
            for case, chance in enumerate(chances)
            for repeat in range(5)
            for condition in ("prompted", "unprompted")
        ]
        if ci := measure_retention(sessions)["m"]["retention"]["ci"]:
            defined += 1
            missed += not ci[0] <= 1 <= ci[1]
    # 23 % with sessions taken for independent.
    assert missed / defined < 0.09


@pytest.mark.parametrize(("cases", "unprompted"), [(2, False), (20, True)])
def test_a_ratio_that_nothing_bounds_has_no_interval(cases, unprompted):
    sessions = [
        *session_pair("x", True, True),
        *(session for n in range(cases - 1) for session in session_pair(f"{n}", True, unprompted)),
    ]

    ratio = measure_retention(sessions)["m"]["retention"]

    assert ratio["value"] is not None
    assert ratio["ci"] is None


def test_a_rate_counts_cases_however_often_each_was_played():
    sessions = [SessionOutcome(f"c{n}", "m", "u", repeat, n < 3) for n in range(4) for repeat in range(1, 13)]
    [arm] = report_sessions([*sessions, SessionOutcome("c0", "m", "u", 13, None)])["arms"]

    assert (arm["right"], arm["n"], arm["cases"], arm["left_out"], arm["rate"]) == (36, 48, 4, 1, 0.75)
    assert arm["ci"] == pytest.approx(proportion_confint(3, 4, method="wilson"))


def test_figures_are_never_pooled_over_models_conditions_or_reasoning():
    sessions = [SessionOutcome("a", "m", "prompted", 1, True, "x", reasoning=on) for on in (True, False)]

    report = report_sessions(sessions)

    assert [(arm["reasoning"], arm["n"]) for arm in report["arms"]] == [(False, 1), (True, 1)]
    assert report["groups"] is None


def state(*stated):
    return [SessionOutcome(f"c{n}", "m", "u", 1, right, "g", p) for n, (p, right) in enumerate(stated)]


def test_a_hundred_stated_probabilities_have_a_calibration_error_and_ten_bins():
    sessions = state(*([(0.05, False), (0.95, True), (0.95, False), (1.0, True)] * 25))
    [arm] = report_sessions(sessions)["arms"]

    for figures in (arm["calibration"], arm["groups"]["groups"]["g"]):
        assert figures["ece"] == pytest.approx((0.05 + abs(2.9 - 2)) / 4)
        assert figures["brier"] == pytest.approx((0.05**2 + 0.05**2 + 0.95**2 + 0) / 4)
    assert [each["n"] for each in arm["calibration"]["bins"]] == [25, *[0] * 8, 75]
    assert (arm["calibration"]["n"], arm["calibration"]["cases"], arm["calibration"]["no_ece"]) == (100, 100, "")


def test_two_stated_probabilities_have_no_calibration_error_and_a_reason():
    # A page had 0.650 of these two.
    [arm] = report_sessions(state((0.7, False), (0.6, False)))["arms"]

    for figures in (arm["calibration"], arm["groups"]["groups"]["g"]):
        assert figures["ece"] is None
        assert figures["brier"] == pytest.approx((0.7**2 + 0.6**2) / 2)
    assert arm["calibration"]["bins"] == []
    assert arm["calibration"]["no_ece"].startswith(
        "Below 100 cases with a stated probability there is no expected calibration error"
    )


def test_what_is_no_probability_is_counted_and_left_out():
    [arm] = report_sessions(state((0.7, True), (1.2, True), (-0.1, True), (float("nan"), True), (None, True)))["arms"]

    assert (arm["calibration"]["n"], arm["calibration"]["without"]) == (1, 4)


def test_figures_of_few_cases_are_marked_and_those_of_two_have_no_interval():
    for cases, mark in ((2, "few"), (3, "few"), (9, "few"), (10, "rough"), (19, "rough"), (20, None)):
        sessions = [SessionOutcome(f"c{n}", "m", "u", repeat, n > 0, "g") for n in range(cases) for repeat in range(5)]
        [arm] = report_sessions(sessions)["arms"]
        for figures in (arm, arm["groups"]["groups"]["g"]):
            assert (figures["mark"], figures["ci"] is None) == (mark, cases < 3)


def test_tests_of_several_models_and_conditions_are_adjusted_for_their_number():
    sessions = [
        SessionOutcome(f"c{n}", model, condition, 1, n < right)
        for model, rights in {"a": (2, 9, 9), "b": (5, 10, 5)}.items()
        for condition, right in zip(("unprompted", "prompted", "careful"), rights, strict=True)
        for n in range(12)
    ]
    figures = measure_retention(sessions)
    chances = {name: each["p_mcnemar"] for name, each in figures.items()}

    assert chances == pytest.approx({"a": 2 / 2**7, "a, careful": 2 / 2**7, "b": 2 / 2**5, "b, careful": 1})
    # Holm's by hand: 4, 3, 2 and 1 times, never less than the one before.
    assert {name: each["p_holm"] for name, each in figures.items()} == pytest.approx(
        {"a": 4 / 64, "a, careful": 4 / 64, "b": 2 / 16, "b, careful": 1}
    )


def test_one_group_has_no_gap():
    figures = measure_groups([SessionOutcome("a", "m", "u", 1, True, "g", pair="p")])
    assert (figures["gap"], figures["no_gap"]) == (None, "")


def make_group_outcomes(outcomes):
    """The same cases, told of each group."""
    return [
        SessionOutcome(f"{group}-{n}", "m", "u", 1, outcome, group, pair=f"case {n}")
        for group, own in outcomes.items()
        for n, outcome in enumerate(own)
    ]


def test_groups_with_other_cases_are_not_compared():
    sessions = [SessionOutcome(f"{group}{n}", "m", "u", 1, group == "a", group) for group in "ab" for n in range(40)]

    figures = measure_groups(sessions)

    assert figures["gap"] is None
    assert figures["no_gap"] == "no two groups share 10 readable cases"


def test_a_gap_needs_ten_cases_that_both_groups_were_read_in():
    nine = make_group_outcomes({"a": [True] * 9 + [None], "b": [False] * 10})
    ten = make_group_outcomes({"a": [True] * 10, "b": [False] * 10})

    assert measure_groups(nine)["gap"] is None
    assert measure_groups(ten)["gap"]["cases"] == 10


def test_a_gap_is_on_shared_cases_and_its_ratio_is_the_lower_over_the_higher():
    women, men = [True] * 16 + [False] * 4, [True] * 8 + [False] * 8 + [True] * 2 + [False] * 2
    sessions = [*make_group_outcomes({"women": women, "men": men}), SessionOutcome("other", "m", "u", 1, True, "men")]

    gap = measure_groups(sessions)["gap"]

    assert (gap["highest"], gap["lowest"], gap["cases"], gap["compared"]) == ("women", "men", 20, 1)
    assert (gap["highest_rate"], gap["lowest_rate"], gap["highest_n"], gap["lowest_n"]) == (0.8, 0.5, 20, 20)
    assert (gap["difference"], gap["ratio"]) == (pytest.approx(0.3), pytest.approx(0.5 / 0.8))
    # Newcombe's interval of paired shares: both 8, women only 8, men only 2, neither 2.
    (l1, u1), (l2, u2) = (proportion_confint(part, 20, method="wilson") for part in (16, 10))
    phi = (8 * 2 - 8 * 2) / np.sqrt(16 * 4 * 10 * 10)
    low = 0.3 - np.sqrt((0.8 - l1) ** 2 - 2 * phi * (0.8 - l1) * (u2 - 0.5) + (u2 - 0.5) ** 2)
    high = 0.3 + np.sqrt((0.5 - l2) ** 2 - 2 * phi * (0.5 - l2) * (u1 - 0.8) + (u1 - 0.8) ** 2)
    assert gap["ci"] == pytest.approx([low, high])
    # The ratio of paired shares, (b + c) / (U P) being (8 + 2) / (10 * 16).
    spread = 1.959964 * np.sqrt(10 / 160)
    assert gap["ratio_ci"] == pytest.approx([0.625 * np.exp(-spread), 0.625 * np.exp(spread)])


def test_the_gap_of_three_groups_is_the_largest():
    sides = {"a": [True] * 12, "b": [True] * 6 + [False] * 6, "c": [False] * 12}
    gap = measure_groups(make_group_outcomes(sides))["gap"]

    assert (gap["highest"], gap["lowest"], gap["difference"], gap["compared"]) == ("a", "c", 1.0, 3)


def test_the_largest_of_many_gaps_is_seldom_one_where_groups_are_alike():
    draws, excluded = np.random.default_rng(5), 0
    for _ in range(300):
        gap = measure_groups(
            make_group_outcomes({f"g{n}": [bool(x) for x in draws.random(30) < 0.5] for n in range(8)})
        )["gap"]
        assert gap["compared"] == 28
        excluded += gap["ci"][0] > 0
    # 53 % with the interval of a pair that was named beforehand.
    assert excluded / 300 < 0.08


def test_groups_that_fare_alike_are_two_groups_and_no_gap():
    gap = measure_groups(make_group_outcomes({"a": [True] * 12, "b": [True] * 12}))["gap"]

    assert (gap["highest"], gap["lowest"], gap["difference"], gap["ratio_ci"]) == ("a", "b", 0.0, None)
    assert gap["ci"][0] < 0 < gap["ci"][1]


def run_report(path):
    out = StringIO()
    call_command("scenario", "report", "--sessions", str(path), "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("number", ["NC10", "NC11"])
def test_the_command_gives_the_numbers_that_were_worked_out_apart_from_it(tmp_path, number):
    example = read_example(number)
    path = tmp_path / "sessions.jsonl"
    path.write_text(example["files"]["sessions.jsonl"])
    report = run_report(path)
    for expected in example["expected"]:
        # Their groups share no case, so there is no gap to print, and state fewer than 100 probabilities.
        if {"gap", "ece"} & set(expected["path"]):
            continue
        found = report
        for key in expected["path"]:
            found = found[key]
        if isinstance(expected["value"], str | bool) or expected["value"] is None:
            assert found == expected["value"], expected["path"]
        else:
            assert found == pytest.approx(expected["value"], abs=example["tolerance"]), expected["path"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"case": "a", "model": "m", "condition": "p"}', "line 2"),
        ('{"case": "a", "model": "m", "condition": "p", "outcome": 1}', "true, false or null"),
        ('{"case": "", "model": "m", "condition": "p", "outcome": true}', "found an empty text for “case”"),
        ('{"case": "b", "model": "m", "condition": "p", "outcome": true, "probability": 1.2}', "from 0 to 1"),
        ('{"case": "b", "model": "m", "condition": "p", "outcome": true, "repeat": 0}', "from 1"),
        ('{"case": "a", "model": "m", "condition": "p", "outcome": true}', "the session of line 1 again"),
        ("[]", "one JSON object"),
    ],
)
def test_a_line_that_is_no_session_is_refused(tmp_path, line, words):
    path = tmp_path / "sessions.jsonl"
    path.write_text('{"case": "a", "model": "m", "condition": "p", "outcome": true}\n' + line)

    with pytest.raises(CommandError, match=words):
        run_report(path)


def session_model(model, shares, condition="u", **parts):
    """The sessions of a model: of each case as many as there are signs, 1 for an expected answer, 0 for another, - for none."""
    return [
        SessionOutcome(case, model, condition, repeat, {"1": True, "0": False, "-": None}[sign], **parts)
        for case, signs in shares.items()
        for repeat, sign in enumerate(signs, 1)
    ]


def test_two_models_are_compared_on_the_cases_that_both_met_with_repeats_averaged():
    signs = ["11 00", "10 00", "11 10", "11 01", "01 11", "11 00", "10 10", "111 0", "1 000", "11 10", "11 -0", "1- 01"]
    a, b = ({f"c{n}": each.split()[side] for n, each in enumerate(signs)} for side in (0, 1))
    sessions = [*session_model("a", a), *session_model("b", b | {"other": "11", "unreadable": "--"})]

    [found] = measure_comparisons(sessions)

    means = [[np.mean([s == "1" for s in each if s != "-"]) for each in side.values()] for side in (a, b)]
    differences = np.subtract(means[0], means[1])
    interval = ttest_1samp(differences, 0).confidence_interval()
    tossed = [abs(np.dot(tosses, differences)) for tosses in product((1, -1), repeat=12)]
    assert (found["kind"], found["under"], found["first"], found["second"]) == ("models", "u", "a", "b")
    assert (found["cases"], found["left_out"], found["mark"]) == (12, 1, "rough")
    assert [found["first_rate"], found["second_rate"]] == pytest.approx(np.mean(means, axis=1))
    assert found["difference"] == pytest.approx(differences.mean())
    assert found["ci"] == pytest.approx(list(interval))
    assert found["p"] == pytest.approx(np.mean(np.array(tossed) >= abs(differences.sum()) - 1e-9))
    assert found["verdict"] == "higher"


def test_models_conditions_and_reasoning_are_three_families_of_comparisons():
    cases = {f"c{n}": "1" for n in range(3)}
    sessions = [
        session
        for model in ("m", "n")
        for condition in ("unprompted", "prompted")
        for reasoning in (True, False)
        for session in session_model(model, cases, condition, reasoning=reasoning)
    ]

    found = measure_comparisons(sessions)

    assert Counter(each["kind"] for each in found) == {"models": 4, "conditions": 4, "reasoning": 4}
    sides = {(each["kind"], each["under"], each["first"], each["second"]) for each in found}
    assert ("conditions", "n, reasoning off", "prompted", "unprompted") in sides
    assert ("reasoning", "prompted", "m, reasoning on", "m, reasoning off") in sides
    assert ("models", "unprompted", "m, reasoning on", "n, reasoning on") in sides


def test_one_model_under_two_names_is_compared_by_its_reasoning():
    cases = {f"c{n}": "1" for n in range(3)}
    named = {"fast": False, "thinks": True}
    sessions = [
        session
        for name, on in named.items()
        for session in session_model(name, cases, reasoning=on, base="account 1, model 2")
    ]

    [found] = measure_comparisons(sessions)

    assert (found["kind"], found["first"], found["second"]) == (
        "reasoning",
        "thinks, reasoning on",
        "fast, reasoning off",
    )


def test_each_family_of_comparisons_is_adjusted_for_its_own_number():
    """Ten cases to none: P is 2 / 2^10, three times that among the pairs of three models."""
    sessions = [
        session
        for model, sign in (("a", "1"), ("b", "0"), ("c", "0"))
        for condition in ("prompted", "unprompted")
        for session in session_model(model, {f"c{n}": sign for n in range(10)}, condition)
    ]
    found = {
        (each["kind"], each["under"], each["first"], each["second"]): each for each in measure_comparisons(sessions)
    }

    assert found["models", "prompted", "a", "b"]["p"] == pytest.approx(2 / 1024)
    assert found["models", "prompted", "a", "b"]["p_holm"] == pytest.approx(6 * 2 / 1024)
    assert found["conditions", "a", "prompted", "unprompted"]["p_holm"] == 1


def test_a_difference_of_rates_is_bounded_by_minus_1_and_1():
    """Of differences 1, 1 and -1 Student's interval is 0.333 ± 2.868."""
    sessions = [
        *session_model("a", {"x": "1", "y": "1", "z": "0"}),
        *session_model("b", {"x": "0", "y": "0", "z": "1"}),
    ]
    [found] = measure_comparisons(sessions)
    assert found["ci"] == [-1, 1]


def test_repeats_and_few_cases_give_no_verdict_on_two_models():
    few = {f"c{n}": "1" * 10 for n in range(6)}
    [found] = measure_comparisons([*session_model("a", few), *session_model("b", dict.fromkeys(few, "0" * 10))])

    assert (found["cases"], found["mark"], found["verdict"]) == (6, "few", None)
    assert (found["p"], found["p_holm"], found["family"]) == (None, None, 0)
    assert judge_comparison(found, "cases").words == "few cases: 6, a verdict needs 10"


def test_arms_that_met_no_case_together_are_not_compared():
    assert measure_comparisons([*session_model("a", {"x": "1"}), *session_model("b", {"y": "1"})]) == []
