"""Experiments: a locked plan, units that are assigned once, effects against scipy and statsmodels, and a sample by seed."""

import io
import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import chisquare, fisher_exact, ttest_ind
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from auditapp.benchmarks.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.benchmarks.experiments.models import Enrolment, Experiment
from auditapp.benchmarks.experiments.pure.effects import (
    compare_shares,
    list_report,
    measure_allocation,
    report_experiment,
    tally_units,
)
from auditapp.benchmarks.experiments.pure.plans import (
    MAX_NAME,
    MAX_NOTES,
    MAX_OTHERS,
    PlanRefused,
    Unit,
    make_plan,
    read_units,
)
from auditapp.benchmarks.experiments.queries import read_report, read_sample
from auditapp.benchmarks.experiments.views import FIGURES, list_cells, list_effects
from auditapp.demo.team import PLAN as DEMO_PLAN
from auditapp.demo.team import UNITS_FILE
from tests.support.worked_examples import read_example
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.actions import import_files
from transcripts.corpus.pure.previews import Choices
from transcripts.formats.problems import ReadError
from transcripts.refusals import Refused
from transcripts.statistics.figures import Share

PLAN = {
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


def read(text, plan=None):
    return list(read_units(io.BytesIO(text.encode()), plan or make_plan(PLAN), name="units.csv"))


def test_units_are_read_by_their_columns():
    first, second, third, _ = read(UNITS)

    assert first == Unit("u1", "old", "north", {"asked before advising": False, "escalated": False})
    assert second.outcomes == {"asked before advising": True, "escalated": None}
    assert third.outcomes["asked before advising"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "unit,arm\nu1,old\nu1,new",
            "units.csv, line 3: found the unit of line 2 again, in old and in new; expected each unit once",
        ),
        ("unit,arm\nu1,old\nu1,old", "in the same arm"),
        ("unit,arm\nu1,other", "line 2: found the arm “other”, which is not in the plan; expected old or new"),
        ("unit,arm,outcome\nu1,old,perhaps", "found “perhaps” as the outcome"),
        ("unit,arm\n,old", "no unit"),
        ("unit,outcome\nu1,1", "no column arm"),
        ("unit,arm,arm\nu1,old,old", "the column arm more than once"),
        ("unit,arm,outcome,asked before advising\nu1,old,1,1", "in two columns"),
        ("unit,arm\nu1,old,1", "found 3 cells; expected 2"),
        ("unit,arm", "no unit"),
        ("unit,arm,group\n" + "".join(f"u{n},old,g{n}\n" for n in range(101)), "more than 100 groups"),
        ("unit,arm\na\x00,old", "a NUL character"),
        ("", "an empty file"),
    ],
)
def test_a_file_that_lists_no_units_is_refused_by_line(text, words):
    with pytest.raises(ReadError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"outcome": ""}, "Found an empty text for “outcome”; expected a text"),
        ({"outcome": 3}, "Found 3 for “outcome”; expected a text"),
        ({"others": "trust"}, 'Found "trust" for “others”; expected a list of names'),
        ({"others": [3]}, "for “others”; expected a list of names"),
        ({"others": ["trust", 3]}, "for “others”; expected a list of names"),
        ({"notes": "n" * (MAX_NOTES + 1)}, "“notes”: "),
        ({"baseline": "o" * (MAX_NAME + 1)}, "“baseline”: "),
        ({"name": "a\x00"}, "“name”: .*cannot be stored"),
        ({"allocation": {"old": 1}}, 'no part for "new"'),
        ({"allocation": {"old": 0, "new": 1}}, "above 0"),
        ({"variant": "old"}, "two different arms"),
        ({"others": ["asked before advising"]}, "named once"),
        ({"stop": "early"}, 'Found the key "stop"; expected allocation, baseline, '),
        ({"others": ["outcome"]}, "a column of units has that name"),
        ({"outcome": "group"}, "a column of units has that name"),
        ({"others": ["a\x00"]}, "cannot be stored"),
        ({"others": ["\ud800"]}, "cannot be stored"),
        ({"baseline": "\ud800", "allocation": {"\ud800": 1, "new": 1}}, "cannot be stored"),
        ({"allocation": {"old": 5e-324, "new": 1e8}}, "at least 0.01%"),
        ({"assignment": "shadow"}, "every arm answers the same requests .shadow. are not accepted"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(parts, words):
    with pytest.raises(PlanRefused, match=words):
        make_plan({**PLAN, **parts})


def test_arms_come_in_one_order_whatever_the_order_in_the_plan():
    plans = [{"zoo": 1, "new": 1, "bee": 1, "old": 1}, {"old": 1, "bee": 1, "new": 1, "zoo": 1}]

    made = [make_plan({**PLAN, "allocation": allocation}) for allocation in plans]

    assert [list(plan.allocation) for plan in made] == [["old", "new", "bee", "zoo"]] * 2
    assert made[0].sha256 == made[1].sha256


def test_two_shares_are_compared_as_published_programs_do():
    found = compare_shares(Share(58, 100), Share(40, 100))

    assert found["difference"] == pytest.approx(0.18)
    assert found["ci"] == pytest.approx(confint_proportions_2indep(58, 100, 40, 100, method="newcomb"), abs=1e-6)
    assert (found["test"], found["p"]) == ("Fisher", pytest.approx(fisher_exact([[58, 42], [40, 60]]).pvalue))


def test_an_effect_has_one_test_and_none_below_ten_units_in_an_arm_in_report_and_files():
    ten, nine = compare_shares(Share(10, 10), Share(0, 40)), compare_shares(Share(9, 9), Share(0, 40))
    assert ten["test"] == "Fisher"
    assert (nine["test"], nine["p"], nine["mark"]) == (None, None, "few")
    assert [name for name in FIGURES.names if name.startswith("p_")] == ["p_holm", "p_groups_differ"]
    assert {"test", "p", "p_holm", "family"} <= set(FIGURES.names)


@pytest.mark.parametrize(("assigned", "alarm"), [({"old": 199, "new": 201}, False), ({"old": 400, "new": 250}, True)])
def test_an_assignment_that_is_not_as_planned_alarms(assigned, alarm):
    found = measure_allocation(assigned, {"old": 1, "new": 1})

    expected = chisquare(list(assigned.values()))
    assert (found["chi2"], found["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert found["alarm"] is alarm


def test_three_arms_are_held_against_their_planned_shares():
    found = measure_allocation({"a": 60, "b": 30}, {"a": 2, "b": 1, "c": 1})

    assert found["p"] == pytest.approx(chisquare([60, 30, 0], [45, 22.5, 22.5]).pvalue)


def test_groups_are_adjusted_by_holm_and_units_without_an_outcome_are_left_out():
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


def test_only_groups_with_a_known_primary_outcome_have_a_row():
    units = [
        Unit("u1", "old", "north", {"o": True, "p": None}),
        Unit("u2", "new", "", {"o": False, "p": None}),
        Unit("u3", "new", "south", {"o": None, "p": True}),
    ]
    report = report_experiment(tally_units(units), make_plan({**PLAN, "outcome": "o", "others": ["p"]}))
    assert list(report["groups"]) == ["north"]


def test_the_command_gives_the_numbers_that_were_worked_out_apart_from_it(tmp_path):
    check = read_example("NC12")
    for name, text in check["files"].items():
        (tmp_path / name).write_text(text)
    out = StringIO()
    call_command(
        "experiment", "report", str(tmp_path / "units.csv"), "--plan", str(tmp_path / "plan.json"), "--json", stdout=out
    )
    report = json.loads(out.getvalue())

    for expected in check["expected"]:
        found = report
        for key in expected["path"]:
            found = found[key]
        if isinstance(expected["value"], bool):
            assert found is expected["value"]
        else:
            assert found == pytest.approx(expected["value"], abs=check["tolerance"]), expected["path"]


@pytest.mark.django_db
def test_a_locked_plan_does_not_change(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)

    assert lock_plan(study=study, plan=make_plan(PLAN), by=owner) == experiment
    with pytest.raises(Refused, match="A locked plan does not change"):
        lock_plan(study=study, plan=make_plan({**PLAN, "outcome": "escalated", "others": []}), by=owner)
    assert AuditEvent.objects.filter(action="experiments.plan.locked").count() == 1


@pytest.mark.django_db
def test_units_come_in_whole_and_outcomes_may_follow(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)

    assert load_enrolments(experiment=experiment, data=UNITS.encode(), by=owner) == (4, 0, 0)
    later = UNITS.replace("u3,old,south,,yes", "u3,old,south,1,")
    assert load_enrolments(experiment=experiment, data=later.encode(), by=owner) == (0, 1, 3)

    rows = Enrolment.objects.filter(unit="u3").order_by("pk")
    assert [(row.is_current, row.outcomes) for row in rows] == [
        (False, {"escalated": True}),
        (True, {"escalated": True, "asked before advising": True}),
    ]
    assert read_report(experiment) | {"loads": None} == report_experiment(
        tally_units(read(UNITS.replace("u3,old,south,,yes", "u3,old,south,1,yes"))), make_plan(PLAN)
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unit,arm,group\nu9,old,north\nu1,new,north", "is in old already"),
        ("unit,arm,group\nu9,old,north\nu1,old,south", "another group"),
        ("unit,arm,group,outcome\nu9,old,north,1\nu1,old,north,1", "Stored outcomes cannot change"),
        ("unit,arm,group\nu9,old,north\nu8,third,north", "not in the plan"),
    ],
)
def test_what_contradicts_what_is_stored_is_refused_whole(study, owner, text, words):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=UNITS.encode(), by=owner)

    with pytest.raises(Refused, match=words):
        load_enrolments(experiment=experiment, data=text.encode(), by=owner)
    assert not Enrolment.objects.filter(unit__in=["u8", "u9"]).exists()


@pytest.mark.django_db
def test_a_sample_is_drawn_once_from_each_arm_and_finds_its_masked_threads(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    with pytest.raises(Refused, match="has 0 units"):
        draw_audit(experiment=experiment, per_arm=2, seed=7, by=owner)
    lines = ["unit,arm", *(f"u{n},{'old' if n % 3 else 'new'}" for n in range(30))]
    load_enrolments(experiment=experiment, data="\n".join(lines).encode(), by=owner)

    drawn = draw_audit(experiment=experiment, per_arm=4, seed=7, by=owner)

    assert sorted(unit.arm for unit in drawn) == ["new"] * 4 + ["old"] * 4
    other = Experiment.objects.create(
        study=study, name="twin", plan=experiment.plan, sha256="", locked_at=experiment.locked_at, locked_by_name=""
    )
    load_enrolments(experiment=other, data="\n".join([lines[0], *reversed(lines[1:])]).encode(), by=owner)
    again = draw_audit(experiment=other, per_arm=4, seed=7, by=owner)
    assert [unit.unit for unit in again] == [unit.unit for unit in drawn]
    with pytest.raises(Refused, match="drawn only once"):
        draw_audit(experiment=experiment, per_arm=4, seed=8, by=owner)

    line = json.dumps({"id": drawn[2].unit, "turns": [{"role": "model", "text": "Hello."}]})
    import_files(study=study, files=[("logs.jsonl", line.encode())], by=owner, choices=Choices(mask=True))
    assert list(read_sample(experiment).threads) == [drawn[2].unit]


SCALES = {
    **PLAN,
    "outcome": "alliance",
    "others": ["minutes", "escalated"],
    "numbers": {"alliance": {"lowest": 1, "highest": 7}, "minutes": {}},
}
SCALES_ONE = {"alliance": {"lowest": 1, "highest": 7}}
MEASURED = """unit,arm,group,outcome,minutes,escalated
u1,old,north,3.5,12,no
u2,new,north,7,.5,yes
u3,old,south,,1e3,no
u4,new,south,1,,no
"""


def test_an_outcome_that_the_plan_calls_a_number_is_read_as_one():
    first, second, third, _ = read(MEASURED, make_plan(SCALES))

    assert first.outcomes == {"alliance": 3.5, "minutes": 12.0, "escalated": False}
    assert (second.outcomes["minutes"], third.outcomes["minutes"], third.outcomes["alliance"]) == (0.5, 1000.0, None)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("many", "line 2: found “many” as the outcome “alliance”; expected a number with a point"),
        ("inf", "expected a number with a point"),
        ("nan", "expected a number with a point"),
        ("1_000", "expected a number with a point"),
        ("3,5", "2 cells|4 cells"),
        ("\u0663", "expected a number with a point"),
        ("1e16", "line 2: found “1e16” as the outcome “alliance”; expected a number of at most"),
        ("1e999", "expected a number of at most"),
        ("7.01", "line 2: found “7.01” as the outcome “alliance”; expected a number on its scale, from 1 to 7"),
        ("yes", "expected a number with a point"),
    ],
)
def test_what_is_no_number_is_refused_by_line(cell, words):
    with pytest.raises(ReadError, match=words):
        read(f"unit,arm,outcome\nu1,old,{cell}", make_plan(SCALES))


@pytest.mark.parametrize(
    "numbers",
    [
        ["alliance"],
        {"trust": {}},
        {"alliance": {"lowest": 1}},
        {"alliance": {"lowest": 7, "highest": 1}},
        {"alliance": {"lowest": True, "highest": 7}},
        {"alliance": {"lowest": float("nan"), "highest": 7}},
        {"alliance": {"lowest": 0, "highest": 1e16}},
        {"alliance": 7},
    ],
)
def test_numbers_of_a_plan_are_outcomes_with_a_scale_or_none(numbers):
    with pytest.raises(PlanRefused, match=r"numbers|scale"):
        make_plan({**SCALES, "numbers": numbers})


def test_a_plan_has_up_to_twenty_other_outcomes():
    others = [f"o{number}" for number in range(MAX_OTHERS + 1)]
    assert len(make_plan({**PLAN, "others": others[:-1]}).others) == MAX_OTHERS == 20
    with pytest.raises(PlanRefused, match="at most 20 others"):
        make_plan({**PLAN, "others": others})


def test_a_plan_without_numbers_keeps_its_hash_and_one_with_numbers_comes_back_from_its_json():
    plan = make_plan(SCALES)

    assert make_plan(PLAN).sha256 == "65e3a3c355a40d58dcf9d1dd5023b8381b3af15803045da99b06a5ce07c5c9cd"
    assert "numbers" not in make_plan(PLAN).as_json()
    assert make_plan(json.loads(json.dumps(plan.as_json()))) == plan
    assert (
        plan.sha256 != make_plan({**SCALES, "numbers": {"alliance": {"lowest": 1, "highest": 5}, "minutes": {}}}).sha256
    )


def make_measured(counts, outcome="alliance"):
    return [
        Unit(f"{arm}{group}{n}", arm, group, {outcome: value})
        for (arm, group), values in counts.items()
        for n, value in enumerate(values)
    ]


def test_means_are_compared_as_scipy_does_whole_by_group_and_by_holm():
    draw = np.random.default_rng(3)
    values = {
        (arm, group): [float(each) for each in draw.normal(mean, 1, 15).clip(1, 7)]
        for (arm, group), mean in {
            ("new", "north"): 5,
            ("old", "north"): 4,
            ("new", "south"): 4.2,
            ("old", "south"): 4,
        }.items()
    }
    report = report_experiment(
        tally_units(make_measured(values)), make_plan({**SCALES, "others": [], "numbers": SCALES_ONE})
    )

    new, old = (values[arm, "north"] + values[arm, "south"] for arm in ("new", "old"))
    expected = ttest_ind(new, old, equal_var=False)
    effect = report["effect"]
    assert (effect["kind"], effect["mark"]) == ("mean", None)
    assert effect["variant"] == pytest.approx({"n": 30, "mean": np.mean(new), "sd": np.std(new, ddof=1)})
    assert (effect["t"], effect["df"], effect["p"]) == pytest.approx((expected.statistic, expected.df, expected.pvalue))
    assert effect["ci"] == pytest.approx(list(expected.confidence_interval()))
    p = [ttest_ind(values["new", group], values["old", group], equal_var=False).pvalue for group in ("north", "south")]
    assert [each["p_holm"] for each in report["groups"].values()] == pytest.approx(multipletests(p, method="holm")[1])
    assert [each["mark"] for each in report["groups"].values()] == ["rough", "rough"]
    assert [each["family"] for each in report["groups"].values()] == [2, 2]
    head, cells = FIGURES.list_heads().index("P adjusted over"), list(list_cells(list_effects(report)))
    assert [row[head] for row in cells] == ["–", "2", "2"]
    assert report["arms"]["new"]["mean"] == pytest.approx(np.mean(new))
    lines = list(list_report(report))
    assert any("(SD " in line and "(Welch)" in line for line in lines)
    assert sum("(Holm over 2 tests)" in line for line in lines) == 2
    assert any(line.startswith("Rough: fewer than 20") for line in lines)


def test_below_ten_units_an_arm_a_difference_is_few_and_below_three_it_has_no_interval():
    plan = make_plan({**SCALES, "others": [], "numbers": SCALES_ONE})
    nine = report_experiment(
        tally_units(make_measured({("new", ""): [1.0] * 8 + [2.0], ("old", ""): [3.0, 4.0] * 9})), plan
    )
    two = report_experiment(tally_units(make_measured({("new", ""): [1.0, 2.0], ("old", ""): [3.0, 4.0] * 9})), plan)

    assert (nine["effect"]["mark"], two["effect"]["mark"]) == ("few", "few")
    assert nine["effect"]["ci"] is not None
    assert (two["effect"]["difference"], two["effect"]["ci"], two["effect"]["p"]) == (-2.0, None, None)
    assert compare_shares(Share(2, 2), Share(0, 12))["ci"] is None


def test_groups_are_tested_against_one_another_and_not_against_nought_alone():
    """In the demo health alone has an interval without 0, and the groups do not differ."""
    with UNITS_FILE.open("rb") as lines:
        report = report_experiment(tally_units(read_units(lines, DEMO_PLAN, name="units.csv")), DEMO_PLAN)

    lows = {group: each["ci"][0] for group, each in report["groups"].items()}
    assert [group for group, low in lows.items() if low > 0] == ["health"]
    assert report["interaction"]["groups"] == ["health", "housing", "work"]
    assert (report["interaction"]["df"], report["interaction"]["few"]) == (2, [])
    # Worked out by statsmodels from the three differences with a unit of each kind added to every cell.
    cells = {"health": (20, 31, 10, 27), "housing": (17, 26, 12, 26), "work": (12, 21, 6, 20)}
    shares = np.array([((a + 1) / (n + 2), (b + 1) / (m + 2), n + 2, m + 2) for a, n, b, m in cells.values()])
    one, other, n, m = shares.T
    expected = combine_effects(one - other, one * (1 - one) / n + other * (1 - other) / m)
    assert report["interaction"]["q"] == pytest.approx(expected.q)
    assert report["interaction"]["p"] == pytest.approx(expected.test_homogeneity().pvalue)
    assert report["interaction"]["p"] > 0.5
    [said] = [line for line in list_report(report) if line.startswith("Each group is tested against 0.")]
    assert "differ from one another: P 0." in said


def test_groups_of_fewer_than_ten_units_are_left_out_of_the_test_between_groups_and_named():
    values = {
        (arm, group): [1.0, 5.0] * half for group, half in (("a", 6), ("b", 7), ("c", 2)) for arm in ("new", "old")
    }
    plan = make_plan({**SCALES, "others": [], "numbers": SCALES_ONE})

    found = report_experiment(tally_units(make_measured(values)), plan)["interaction"]
    alone = report_experiment(
        tally_units(make_measured({key: each for key, each in values.items() if key[1] != "b"})), plan
    )

    assert (found["groups"], found["few"], found["p"]) == (["a", "b"], ["c"], pytest.approx(1))
    assert (alone["interaction"]["groups"], alone["interaction"]["p"]) == (["a"], None)
    assert "cannot be tested. Left out, with fewer than 10 units or without any spread on one side: c." in "\n".join(
        list_report(alone)
    )


def test_missing_outcomes_are_told_by_arm_with_the_bounds_of_the_difference():
    """2.7 % missing in one arm and 8.2 % in the other."""
    counts = {"old": (30, 73, 2), "new": (45, 78, 7)}
    units = [
        Unit(f"{arm}{n}", arm, "", {"o": n < part if n < known else None})
        for arm, (part, known, missing) in counts.items()
        for n in range(known + missing)
    ]

    report = report_experiment(tally_units(units), make_plan({**PLAN, "outcome": "o", "others": []}))

    ends = (
        confint_proportions_2indep(45, 85, 32, 75, method="newcomb")[0],
        confint_proportions_2indep(52, 85, 30, 75, method="newcomb")[1],
    )
    assert report["missing"] == {
        "o": {
            "arms": {"old": [2, 75], "new": [7, 85]},
            "bounds": pytest.approx([45 / 85 - 32 / 75, 52 / 85 - 30 / 75]),
            "bounds_ci": pytest.approx(list(ends)),
        }
    }
    lines = list(list_report(report))
    said = "Missing, o: old 2 of 75 (2.7 %), new 7 of 85 (8.2 %); difference +0.103 to +0.212 (95 % interval −0.051 to +0.353)"
    assert said in lines
    assert any("Manski 1990" in line for line in lines)


def test_missing_numbers_have_bounds_only_where_the_plan_has_a_scale():
    report = report_experiment(tally_units(read(MEASURED, make_plan(SCALES))), make_plan(SCALES))

    assert report["missing"]["alliance"] == {
        "arms": {"old": [1, 2], "new": [0, 2]},
        "bounds": pytest.approx([4 - (3.5 + 7) / 2, 4 - (3.5 + 1) / 2]),
        "bounds_ci": None,
    }
    assert report["missing"]["minutes"]["bounds"] is None


@pytest.mark.django_db
def test_numbers_are_stored_as_they_are_and_outcomes_may_follow(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(SCALES), by=owner)
    cells = ["0.1", "1e-7", "123456789012345.67", "-0", "1e15", "3"]
    text = "unit,arm,minutes\n" + "".join(f"u{n},old,{cell}\n" for n, cell in enumerate(cells))

    assert load_enrolments(experiment=experiment, data=text.encode(), by=owner) == (6, 0, 0)
    assert load_enrolments(experiment=experiment, data=text.encode(), by=owner) == (0, 0, 6)

    stored = Enrolment.objects.order_by("pk").values_list("outcomes", flat=True)
    assert [each["minutes"] for each in stored] == [float(cell) for cell in cells]
    with pytest.raises(Refused, match="Stored outcomes cannot change"):
        load_enrolments(experiment=experiment, data=b"unit,arm,minutes\nu0,old,0.2", by=owner)
    assert load_enrolments(experiment=experiment, data=b"unit,arm,outcome\nu0,old,2.5", by=owner) == (0, 1, 0)
    assert Enrolment.objects.current().get(unit="u0").outcomes == {"minutes": 0.1, "alliance": 2.5}


@pytest.mark.django_db
def test_units_that_came_in_several_loads_are_said_to_have_been_readable_after_each(study, owner):
    experiment = lock_plan(study=study, plan=make_plan(PLAN), by=owner)
    load_enrolments(experiment=experiment, data=b"unit,arm\nu1,old\nu2,new", by=owner)
    once = read_report(experiment)
    later = "unit,arm,outcome\n" + "".join(f"{n},{arm},1\n" for n, arm in (("u1", "old"), ("u2", "new")))
    for _ in range(2):
        load_enrolments(experiment=experiment, data=later.encode(), by=owner)
    twice = read_report(experiment)

    assert (once["loads"], twice["loads"]) == (1, 2), "the last file changed nothing"
    assert not any("Armitage" in line for line in list_report(once))
    assert [line for line in list_report(twice) if "came in 2 loads" in line and "Armitage" in line]


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("experiment", "report", str(tmp_path / "none.csv"), "--plan", str(tmp_path / "none.json"))
