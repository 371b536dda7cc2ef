"""Experiments: a locked plan, units that are assigned once, effects against scipy and statsmodels, and a sample by seed."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from scipy.stats import chi2_contingency, chisquare, fisher_exact
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]
from statsmodels.stats.proportion import confint_proportions_2indep  # type: ignore[import-untyped]

from auditapp.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.experiments.models import Enrolment, Experiment
from auditapp.experiments.pure.effects import compare_shares, measure_allocation, report_experiment, tally_units
from auditapp.experiments.pure.plans import Plan, PlanRefused, make_plan
from auditapp.experiments.pure.units import Unit, UnitsRefused, read_units
from auditapp.experiments.queries import read_report, read_sample
from tests.shared import shared
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.actions import import_files
from transcripts.corpus.pure.choices import Choices
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.statistics.intervals import Share

PLAN: dict[str, Any] = {
    "name": "asking first",
    "outcome": "asked before advising",
    "others": ["escalated"],
    "baseline": "old",
    "variant": "new",
    "allocation": {"old": 1, "new": 1},
}
UNITS = """unit,arm,group,outcome,escalated,note
u1,old,north,0,no,x
u2,new,north,1,,y
u3,old,south,,yes,z
u4,new,south,yes,no,
"""


def read(text: str, plan: Plan | None = None) -> list[Unit]:
    return list(read_units(text.splitlines(), plan or make_plan(PLAN)))


def test_units_are_read_by_their_columns() -> None:
    first, second, third, _ = read(UNITS)

    assert first == Unit("u1", "old", "north", {"asked before advising": False, "escalated": False})
    assert second.outcomes == {"asked before advising": True, "escalated": None}
    assert third.outcomes["asked before advising"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unit,arm\nu1,old\nu1,new", "Line 3: the unit of line 2 again, in old and in new"),
        ("unit,arm\nu1,old\nu1,old", "in the same arm"),
        ("unit,arm\nu1,other", "not in the plan"),
        ("unit,arm,outcome\nu1,old,perhaps", "“perhaps” is no outcome"),
        ("unit,arm\n,old", "no unit"),
        ("unit,outcome\nu1,1", "no column “arm”"),
        ("unit,arm,arm\nu1,old,old", "Two columns"),
        ("unit,arm,outcome,asked before advising\nu1,old,1,1", "in two columns"),
        ("unit,arm\nu1,old,1", "3 cells under 2 headings"),
        ("unit,arm", "no unit"),
        ("unit,arm,group\n" + "".join(f"u{n},old,g{n}\n" for n in range(101)), "more than 100 groups"),
        ("unit,arm\na\x00,old", "cannot be stored"),
        ("", "no column"),
    ],
)
def test_a_file_that_lists_no_units_is_refused_by_line(text: str, words: str) -> None:
    with pytest.raises(UnitsRefused, match=words):
        read(text)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"outcome": ""}, "says its outcome"),
        ({"allocation": {"old": 1}}, 'no part for "new"'),
        ({"allocation": {"old": 0, "new": 1}}, "above 0"),
        ({"variant": "old"}, "two arms"),
        ({"others": ["asked before advising"]}, "named once"),
        ({"stop": "early"}, 'found "stop"'),
        ({"others": ["outcome"]}, "a column of units has that name"),
        ({"outcome": "group"}, "a column of units has that name"),
        ({"others": ["a\x00"]}, "cannot be stored"),
        ({"others": ["\ud800"]}, "cannot be stored"),
        ({"baseline": "\ud800", "allocation": {"\ud800": 1, "new": 1}}, "cannot be stored"),
        ({"allocation": {"old": 5e-324, "new": 1e8}}, "at least 0.01%"),
        ({"assignment": "shadow"}, "every arm answers the same requests .shadow. are not taken"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanRefused, match=words):
        make_plan({**PLAN, **parts})


def test_arms_come_in_one_order_whatever_the_order_in_the_plan() -> None:
    plans = [{"zoo": 1, "new": 1, "bee": 1, "old": 1}, {"old": 1, "bee": 1, "new": 1, "zoo": 1}]

    made = [make_plan({**PLAN, "allocation": allocation}) for allocation in plans]

    assert [list(plan.allocation) for plan in made] == [["old", "new", "bee", "zoo"]] * 2
    assert made[0].sha256 == made[1].sha256


def test_two_shares_are_compared_as_published_programs_do() -> None:
    found = compare_shares(Share(58, 100), Share(40, 100))

    assert found["difference"] == pytest.approx(0.18)
    assert found["ci"] == pytest.approx(confint_proportions_2indep(58, 100, 40, 100, method="newcomb"), abs=1e-6)
    assert found["chi2"] == pytest.approx(chi2_contingency([[58, 42], [40, 60]], correction=False).statistic)
    assert found["p_chi2"] == pytest.approx(0.010894, abs=1e-6)
    assert found["p_fisher"] == pytest.approx(fisher_exact([[58, 42], [40, 60]]).pvalue)


@pytest.mark.parametrize(("assigned", "alarm"), [({"old": 199, "new": 201}, False), ({"old": 400, "new": 250}, True)])
def test_an_assignment_that_is_not_as_planned_alarms(assigned: dict[str, int], alarm: bool) -> None:
    found = measure_allocation(assigned, {"old": 1, "new": 1})

    expected = chisquare(list(assigned.values()))
    assert (found["chi2"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert found["alarm"] is alarm


def test_three_arms_are_held_against_their_planned_shares() -> None:
    found = measure_allocation({"a": 60, "b": 30}, {"a": 2, "b": 1, "c": 1})

    assert found["p"] == pytest.approx(chisquare([60, 30, 0], [45, 22.5, 22.5]).pvalue)


def test_groups_are_adjusted_by_holm_and_units_without_an_outcome_are_left_out() -> None:
    counts = {"north": ((30, 40), (12, 40)), "south": ((22, 40), (20, 40)), "west": ((9, 10), (4, 10))}
    units = [
        Unit(f"{group}{arm}{n}", arm, group, {"o": n < part})
        for group, sides in counts.items()
        for arm, (part, total) in zip(("new", "old"), sides, strict=True)
        for n in range(total)
    ]
    units.append(Unit("lost", "old", "north", {"o": None}))

    report = report_experiment(tally_units(units), make_plan({**PLAN, "outcome": "o", "others": []}))

    p = [fisher_exact([[a, n - a], [b, m - b]]).pvalue for (a, n), (b, m) in counts.values()]
    assert [each["p_holm"] for each in report["groups"].values()] == pytest.approx(multipletests(p, method="holm")[1])
    assert (report["arms"]["old"]["assigned"], report["arms"]["old"]["with_outcome"]) == (91, 90)


def test_the_command_gives_the_numbers_that_were_worked_out_apart_from_it(tmp_path: Path) -> None:
    checks = json.loads(shared("design/negotiation_checks.json").read_text(encoding="utf-8"))["checks"]
    (check,) = [each for each in checks if "experiment_report" in each["run"]]
    for name, text in check["files"].items():
        (tmp_path / name).write_text(text)
    out = StringIO()
    call_command(
        "experiment", "report", str(tmp_path / "units.csv"), "--plan", str(tmp_path / "plan.json"), "--json", stdout=out
    )
    report = json.loads(out.getvalue())

    for expected in check["expected"]:
        found: Any = report
        for key in expected["path"]:
            found = found[key]
        if isinstance(expected["value"], bool):
            assert found is expected["value"]
        else:
            assert found == pytest.approx(expected["value"], abs=check["tolerance"]), expected["path"]


@pytest.mark.django_db
def test_a_locked_plan_does_not_change(project: Project, owner: User) -> None:
    experiment = lock_plan(project=project, plan=make_plan(PLAN), by=owner)

    assert lock_plan(project=project, plan=make_plan(PLAN), by=owner) == experiment
    with pytest.raises(Refused, match="A locked plan does not change"):
        lock_plan(project=project, plan=make_plan({**PLAN, "outcome": "escalated", "others": []}), by=owner)
    assert AuditEvent.objects.filter(action="experiments.plan.locked").count() == 1


@pytest.mark.django_db
def test_units_come_in_whole_and_outcomes_may_follow(project: Project, owner: User) -> None:
    experiment = lock_plan(project=project, plan=make_plan(PLAN), by=owner)

    assert load_enrolments(experiment=experiment, data=UNITS.encode(), by=owner) == (4, 0, 0)
    later = UNITS.replace("u3,old,south,,yes", "u3,old,south,1,")
    assert load_enrolments(experiment=experiment, data=later.encode(), by=owner) == (0, 1, 3)

    rows = Enrolment.objects.filter(unit="u3").order_by("pk")
    assert [(row.is_current, row.outcomes) for row in rows] == [
        (False, {"escalated": True}),
        (True, {"escalated": True, "asked before advising": True}),
    ]
    assert read_report(experiment) == report_experiment(
        tally_units(read(UNITS.replace("u3,old,south,,yes", "u3,old,south,1,yes"))), make_plan(PLAN)
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unit,arm,group\nu9,old,north\nu1,new,north", "is in old already"),
        ("unit,arm,group\nu9,old,north\nu1,old,south", "another group"),
        ("unit,arm,group,outcome\nu9,old,north,1\nu1,old,north,1", "What was known does not change"),
        ("unit,arm,group\nu9,old,north\nu8,third,north", "not in the plan"),
    ],
)
def test_what_contradicts_what_is_stored_is_refused_whole(project: Project, owner: User, text: str, words: str) -> None:
    experiment = lock_plan(project=project, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=UNITS.encode(), by=owner)

    with pytest.raises(Refused, match=words):
        load_enrolments(experiment=experiment, data=text.encode(), by=owner)
    assert not Enrolment.objects.filter(unit__in=["u8", "u9"]).exists()


@pytest.mark.django_db
def test_a_sample_is_drawn_once_from_each_arm_and_finds_its_masked_threads(project: Project, owner: User) -> None:
    experiment = lock_plan(project=project, plan=make_plan(PLAN), by=owner)
    with pytest.raises(Refused, match="has 0 units"):
        draw_audit(experiment=experiment, per_arm=2, seed=7, by=owner)
    lines = ["unit,arm", *(f"u{n},{'old' if n % 3 else 'new'}" for n in range(30))]
    load_enrolments(experiment=experiment, data="\n".join(lines).encode(), by=owner)

    drawn = draw_audit(experiment=experiment, per_arm=4, seed=7, by=owner)

    assert sorted(unit.arm for unit in drawn) == ["new"] * 4 + ["old"] * 4
    other = Experiment.objects.create(
        project=project, name="twin", plan=experiment.plan, sha256="", locked_at=experiment.locked_at, locked_by_name=""
    )
    load_enrolments(experiment=other, data="\n".join([lines[0], *reversed(lines[1:])]).encode(), by=owner)
    again = draw_audit(experiment=other, per_arm=4, seed=7, by=owner)
    assert [unit.unit for unit in again] == [unit.unit for unit in drawn]
    with pytest.raises(Refused, match="drawn once"):
        draw_audit(experiment=experiment, per_arm=4, seed=8, by=owner)

    line = json.dumps({"id": drawn[2].unit, "turns": [{"role": "model", "text": "Hello."}]})
    import_files(project=project, files=[("logs.jsonl", line.encode())], by=owner, choices=Choices(mask=True))
    assert list(read_sample(experiment).threads) == [drawn[2].unit]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("experiment", "report", str(tmp_path / "none.csv"), "--plan", str(tmp_path / "none.json"))
