"""Figures of plays, held against numbers worked out apart from the code and against statsmodels."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

from auditapp.scenarios.pure.measures import PlayOutcome, measure_groups, measure_retention, report_plays
from tests.shared import shared


def play_pair(case: str, prompted: bool | None, unprompted: bool | None, repeat: int = 1) -> list[PlayOutcome]:
    return [
        PlayOutcome(case, "m", condition, repeat, outcome)
        for condition, outcome in (("prompted", prompted), ("unprompted", unprompted))
    ]


def play_table(both: int, prompted_only: int, unprompted_only: int, neither: int) -> list[PlayOutcome]:
    sides = [(True, True)] * both + [(True, False)] * prompted_only
    sides += [(False, True)] * unprompted_only + [(False, False)] * neither
    return [play for number, each in enumerate(sides) for play in play_pair(f"c{number}", *each)]


def test_retention_is_the_unprompted_rate_over_the_prompted_one() -> None:
    figures = measure_retention(play_table(24, 20, 2, 14))["m"]

    assert figures["prompted"]["rate"] == pytest.approx(44 / 60)
    assert figures["retention"]["value"] == pytest.approx(26 / 44)
    assert figures["retention"]["ci"] == pytest.approx([0.450278, 0.775463], abs=1e-6)
    assert figures["p_mcnemar"] == pytest.approx(mcnemar([[24, 20], [2, 14]], exact=True).pvalue)
    assert figures["retention"]["ci_cases"] is None


def test_a_pair_without_an_outcome_on_one_side_is_left_out_and_counted() -> None:
    figures = measure_retention([*play_pair("a", True, True), *play_pair("b", True, None), *play_pair("c", None, None)])

    assert (figures["m"]["pairs"], figures["m"]["left_out"]) == (1, 2)


def test_a_case_that_was_played_under_one_condition_makes_no_pair() -> None:
    assert measure_retention(play_pair("a", True, True)[:1]) == {}


def test_a_condition_of_any_name_is_held_against_the_unprompted() -> None:
    plays = [*play_table(3, 1, 1, 1), *(PlayOutcome(f"c{n}", "m", "careful", 1, n < 5) for n in range(8))]

    figures = measure_retention(plays)

    assert (figures["m, careful"]["pairs"], figures["m, careful"]["unpaired"]) == (6, 2)
    assert figures["m, careful"]["prompted"]["rate"] == pytest.approx(5 / 6)
    assert figures["m"]["unpaired"] == 0


def test_nothing_right_with_the_prompt_leaves_no_ratio() -> None:
    assert measure_retention(play_table(0, 0, 3, 4))["m"]["retention"]["value"] is None


def test_repeats_of_a_case_add_an_interval_that_draws_cases() -> None:
    plays = [play for case in "abcdef" for repeat in (1, 2) for play in play_pair(case, True, case < "d", repeat)]

    ratio = measure_retention(plays)["m"]["retention"]

    # Six cases, each wholly right or wrong without the prompt: draws of cases spread as a binomial of six does.
    assert ratio["value"] == pytest.approx(0.5)
    assert ratio["ci_cases"] == pytest.approx([1 / 6, 5 / 6])
    assert ratio["ci"][0] > ratio["ci_cases"][0]


def test_figures_are_never_pooled_over_models_conditions_or_reasoning() -> None:
    plays = [PlayOutcome("a", "m", "prompted", 1, True, "x", reasoning=on) for on in (True, False)]

    report = report_plays(plays)

    assert [(arm["reasoning"], arm["n"]) for arm in report["arms"]] == [(False, 1), (True, 1)]
    assert report["groups"] is None


def test_the_calibration_error_weighs_bins_by_their_plays() -> None:
    stated = [(0.05, False), (0.95, True), (0.95, False), (1.0, True)]
    plays = [PlayOutcome(f"c{n}", "m", "u", 1, right, "g", p) for n, (p, right) in enumerate(stated)]

    figures = measure_groups(plays)["groups"]["g"]

    assert figures["ece"] == pytest.approx((0.05 + abs(2.9 - 2)) / 4)
    assert figures["brier"] == pytest.approx((0.05**2 + 0.05**2 + 0.95**2 + 0) / 4)


def test_one_group_has_no_gap() -> None:
    assert measure_groups([PlayOutcome("a", "m", "u", 1, True, "g")])["gap"] is None


def run_report(path: Path) -> dict[str, Any]:
    out = StringIO()
    call_command("scenario_report", "--plays", str(path), "--json", stdout=out)
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def test_the_command_gives_the_numbers_that_were_worked_out_apart_from_it(tmp_path: Path) -> None:
    checks = json.loads(shared("design/negotiation_checks.json").read_text(encoding="utf-8"))["checks"]
    for check in [each for each in checks if "scenario_report" in each["run"]]:
        path = tmp_path / f"{check['id']}.jsonl"
        path.write_text(check["files"]["plays.jsonl"])
        report = run_report(path)
        for expected in check["expected"]:
            found: Any = report
            for key in expected["path"]:
                found = found[key]
            if isinstance(expected["value"], str | bool) or expected["value"] is None:
                assert found == expected["value"], expected["path"]
            else:
                assert found == pytest.approx(expected["value"], abs=check["tolerance"]), expected["path"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"case": "a", "model": "m", "condition": "p"}', "line 2"),
        ('{"case": "a", "model": "m", "condition": "p", "outcome": 1}', "true, false or null"),
        ('{"case": "", "model": "m", "condition": "p", "outcome": true}', "not empty"),
        ('{"case": "b", "model": "m", "condition": "p", "outcome": true, "probability": 1.2}', "from 0 to 1"),
        ('{"case": "b", "model": "m", "condition": "p", "outcome": true, "repeat": 0}', "from 1"),
        ('{"case": "a", "model": "m", "condition": "p", "outcome": true}', "the play of line 1 again"),
        ("[]", "one JSON object"),
    ],
)
def test_a_line_that_is_no_play_is_refused(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "plays.jsonl"
    path.write_text('{"case": "a", "model": "m", "condition": "p", "outcome": true}\n' + line)

    with pytest.raises(CommandError, match=words):
        run_report(path)
