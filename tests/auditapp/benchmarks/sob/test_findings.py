"""The sentence at the head of a page of the benchmark: what it says, where it says nothing, and that nothing stands before it."""

import re

import pytest
from django.urls import reverse

from auditapp.benchmarks.sob.pure.attributions import Kind
from auditapp.benchmarks.sob.pure.figures import (
    Counting,
    Figures,
    arrange_heat_map,
    describe_few,
    write_finding,
    write_map_finding,
    write_pair_finding,
    write_rank_finding,
)
from auditapp.benchmarks.sob.report.views.comparisons import letter_warnings
from auditapp.benchmarks.sob.report.views.reports import write_rule_finding, write_value_finding
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from transcripts.charts.figures import Row, RowChart, Verdict

ACCEPTABILITY, NON_ACCEPTABILITY = TASKS = ("acceptability", "non_acceptability")
COUNTS = dict.fromkeys(("n_attributed", "n_refused", "n_null", "n_responses"), 24)


def score(model, value, interval, task=ACCEPTABILITY, **changed):
    low, high = interval
    cell = {"model": model, "task": task, "target": "overall", "sob": value, "ci": [low, high]}
    more = {"n_nonrefused": 24, "n_items": 24, "attribution_rate": 0.5, "few_items": False, "alarm": None}
    return COUNTS | cell | more | changed


def say(finding):
    return finding and f"{finding.before} {finding.number}{finding.after}"


def find(*cells, **wanted):
    return say(write_finding(Figures({"cells": cells}), **wanted))


class TestFinding:
    def test_the_range_the_highest_and_intervals_that_overlap(self):
        cells = [
            score("fake A", 2.13, (1.57, 2.7)),
            score("fake B", 1.54, (0.96, 2.13)),
            score("fake C", 1.71, (1.17, 2.25)),
            score("fake A", 2.17, (1.54, 2.79), NON_ACCEPTABILITY),
            score("fake B", 1.3, (0.74, 1.91), NON_ACCEPTABILITY),
            score("fake C", 1.3, (0.78, 1.83), NON_ACCEPTABILITY),
        ]
        assert find(*cells) == (
            "Where only “Unknown” is warranted, the models name 1.3 to 2.2 attributes per answer. Fake A names the most on both "
            "tasks, but the 95 % intervals of all three overlap: with 24 texts, their order cannot be told."
        )

    def test_two_models_lead_one_task_each(self):
        cells = [
            score("gpt-5", 2.0, (1, 3)),
            score("fake B", 1.0, (0, 2)),
            score("gpt-5", 1.0, (0, 2), NON_ACCEPTABILITY),
            score("fake B", 1.5, (1, 3), NON_ACCEPTABILITY),
        ]
        said = find(*cells)
        assert (
            "gpt-5 names the most on acceptability, fake B on non-acceptability, but the 95 % intervals of both" in said
        )

    def test_intervals_apart_are_no_verdict_on_the_model_chosen_after_looking(self):
        said = find(score("fake A", 3.0, (2.5, 3.5)), score("fake B", 1.0, (0.5, 1.5)))
        assert said.endswith(
            "Fake A names the most; the 95 % intervals of both do not overlap on every task: “Compare” tests each pair."
        )

    def test_nobody_is_named_where_two_are_highest(self):
        said = find(score("a", 2.0, (1, 3)), score("b", 2.0, (1, 3)))
        assert said == (
            "Where only “Unknown” is warranted, the models name 2.0 attributes per answer. The 95 % intervals of both overlap: "
            "with 24 texts, their order cannot be told."
        )

    def test_one_model_has_no_order(self):
        said = find(score("a", 2.0, (1, 3)), score("b", 3.0, (2, 4)), models=["a"])
        assert said == "Where only “Unknown” is warranted, a names 2.0 attributes per answer."

    @pytest.mark.parametrize(
        "changed", [{"few_items": True}, {"alarm": "unknown"}, {"ci": None}, {"sob": None, "ci": None}]
    )
    def test_nothing_is_said_of_few_texts_alarms_and_scores_without_an_interval(self, changed):
        poor = score("a", 2.0, (1, 3), **changed)
        assert find(poor) is None
        assert find(poor, score("b", 1.0, (0.5, 1.5))) == (
            "Where only “Unknown” is warranted, 1 of 2 models name 1.0 attributes per answer; the others have few texts, an alarm "
            "or no score."
        )

    def test_a_counting_without_intervals_has_no_order(self):
        cells = [score(model, 1.0, (0, 2), sob_released=number) for number, model in ((1.2, "a"), (1.4, "b"))]
        said = find(*cells, counting=Counting.RELEASED)
        assert said.endswith(
            "the models name 1.2 to 1.4 attributes per answer. This counting has no intervals: the order of the models cannot be "
            "told."
        )

    def test_texts_on_one_target_are_named(self):
        cell = score("a", 2.0, (1, 3)) | {"target": "women"}
        assert find(cell, target="women").startswith("On texts on women, where only “Unknown” is warranted, a names")

    def test_nothing_without_an_answer(self):
        assert find() is None


def rank(task=ACCEPTABILITY, *, n=12, p=0.001, chi2=20.0):
    return {
        "task": task,
        "blocks": "models",
        "n_blocks": n,
        "chi2": chi2,
        "iman_davenport_p": p,
        "targets": ["women", "black"],
        "warnings": [],
    }


def find_ranks(*tests, texts=24):
    cells = [score("a", 1.0, (0, 2)) | {"target": target, "n_items": texts} for target in ("women", "black")]
    return say(write_rank_finding(Figures({"cells": cells, "friedman": tests})))


class TestRankFinding:
    def test_targets_differ_by_p_adjusted_over_the_tasks(self):
        assert find_ranks(rank(p=0.0001), rank(NON_ACCEPTABILITY, p=0.2)) == (
            "Models attribute more for some targets than for others, by Friedman’s test over 12 models: acceptability (P < 0.001). "
            "For the other task it cannot be told."
        )
        assert "cannot be told" in find_ranks(rank(p=0.03), rank(NON_ACCEPTABILITY, p=0.2))

    def test_few_models_and_few_texts_leave_it_open(self):
        assert find_ranks(rank(n=6), texts=3) == (
            "Whether models attribute more for some targets than for others cannot be told: there are 6 models, and a verdict "
            "needs 10, and 2 of 2 targets have fewer than 10 texts."
        )

    def test_families_stand_for_models_that_share_weights(self):
        cells = [score("a", 1.0, (0, 2), n_items=24) | {"target": target} for target in ("women", "black")]
        families = rank(n=5, p=None) | {"blocks": "families"}
        said = say(write_rank_finding(Figures({"cells": cells, "friedman": [rank()], "friedman_families": [families]})))
        assert said.endswith("cannot be told: there are 5 families, and a verdict needs 10.")

    def test_nothing_without_a_test(self):
        assert find_ranks(rank(chi2=None)) is None
        assert find_ranks() is None


def test_a_warning_of_several_tests_is_said_once_with_a_letter():
    tests, warnings = letter_warnings([{"warnings": ["Few."]}, {"warnings": ["Related.", "Few."]}, {"warnings": []}])
    assert [test["letters"] for test in tests] == [["a"], ["b", "a"], []]
    assert warnings == [("a", "Few."), ("b", "Related.")]


class TestPairFinding:
    def find(self, *verdicts, few=0):
        tests = [{"n_items": 24, "verdict": verdict} for verdict in verdicts]
        return say(write_pair_finding([*tests, *([{"n_items": 3, "verdict": None}] * few)]))

    def test_how_many_pairs_differ(self):
        assert self.find("higher", "lower", "cannot tell", few=1) == (
            "One of two models names more on the same texts in 2 of 3 comparisons; in the others it cannot be told. 1 more are of "
            "few texts."
        )
        assert self.find("higher") == "One of two models names more on the same texts in 1 of 1 comparison."

    def test_none_differs(self):
        said = "Which of two models names more on the same texts cannot be told"
        assert self.find("cannot tell", "cannot tell") == f"{said} in any of 2 comparisons."
        assert self.find("cannot tell") == f"{said} from 24 texts."

    def test_nothing_is_said_of_few_texts(self):
        assert self.find(few=2) is None


class TestOtherFindings:
    def test_the_value_named_most(self):
        row = {"target": "overall", "denominator": 40, "values": [{"value": "White", "count": 24, "pct": 60.0}]}
        assert say(write_value_finding([row], texts={"overall": 24})) == (
            "The value named most is “White”, in 60.0 % of the 40 answers that attribute anything."
        )
        assert write_value_finding([row], texts={"overall": 9}) is None
        tied = {**row, "values": [*row["values"], {"value": "man", "count": 24, "pct": 60.0}]}
        assert write_value_finding([tied], texts={"overall": 24}) is None
        assert write_value_finding([], texts={}) is None

    def test_rules_outside_the_interval(self):
        words = ("the usual rule", "outside the interval", "within the interval", "few texts: 3, a verdict needs 10")
        chart = RowChart("rules", "", [Row("", [], verdict=Verdict(each)) for each in words])
        assert say(write_rule_finding(chart, "a, acceptability")) == (
            "The score lies outside the 95 % interval of paper counting under 1 of 2 rules (a, acceptability)."
        )
        assert write_rule_finding(RowChart("rules", "", []), "a") is None

    def test_what_stands_for_the_target_and_the_dominant_group(self):
        def lay_out(texts=24, **changed):
            cells = [
                {
                    "entry": {"task": ACCEPTABILITY, "kind": str(kind), "pct": pct, "denominator": 40, "named": True}
                    | changed,
                    "texts": texts,
                }
                for kind, pct in zip(Kind, (5.0, 60.0), strict=True)
            ]
            return [{"target": "overall", "cells": cells}]

        assert say(write_map_finding(lay_out(), ACCEPTABILITY)) == (
            "Of the 40 attributed answers (acceptability), 5.0 % name the target itself and 60.0 % the dominant group."
        )
        assert write_map_finding(lay_out(texts=3), ACCEPTABILITY) is None
        assert write_map_finding(lay_out(named=False), ACCEPTABILITY) is None
        assert write_map_finding(lay_out(), NON_ACCEPTABILITY) is None


class TestFewTexts:
    def cell(self, texts, *, overall=False):
        return {"is_overall": overall, "is_few": texts < 10, "texts": texts}

    def test_one_sentence_speaks_for_all_targets(self):
        cells = [self.cell(24, overall=True), self.cell(2), self.cell(3)]
        assert describe_few(cells).startswith(
            "Each target rests on 2 or 3 texts: read “overall” first. Few: fewer than 10 texts."
        )
        assert "on 2 to 5 texts" in describe_few([*cells, self.cell(5)])
        assert "on 1 text:" in describe_few([cells[0], self.cell(1)])

    def test_it_speaks_for_every_score_or_for_the_cells_that_are_marked(self):
        assert describe_few([self.cell(3, overall=True), self.cell(2)]).endswith("concluded from any of these scores.")
        assert describe_few([self.cell(24, overall=True), self.cell(2), self.cell(12)]).startswith("In italics")
        assert describe_few([self.cell(24, overall=True), self.cell(12)]) == ""
        assert describe_few([]) == ""

    def test_cells_are_marked_only_where_no_sentence_speaks_for_them(self):
        def mark(*texts):
            cells = [score("a", 1.0, (0, 2))]
            for number, target in zip(texts, ("women", "black"), strict=True):
                cells.append(score("a", 1.0, (0, 2)) | {"target": target, "n_items": number, "few_items": number < 10})
            row = arrange_heat_map(Figures({"cells": cells}), targets="all")["rows"][0]
            return [cell.get("shows_few") for cell in row["cells"] if cell["column"] in {"women", "black"}]

        assert mark(3, 2) == [False, False]
        assert mark(3, 12) == [True, False]


PAGES = ("report", "statistics", "sensitivity", "model", "target", "values", "map", "compare")
BOXES = re.compile(r'class="(?:callout|note|banner|caveat|alert|empty|why)')


@pytest.mark.parametrize("name", [*PAGES, "dashboard"])
def test_nothing_in_a_box_stands_between_the_head_and_the_figure(name, batch, study, coder, client_of):
    for label in ("model a", "model b"):
        for task in TASKS:
            answer_cells(
                batch,
                ['{"Race": "White"}', "Person: Unknown", '{"Gender": "Female"}', "Somebody."],
                label=label,
                task=task,
            )
    args = [study.slug] if name == "dashboard" else [study.slug, batch.pk]
    page = client_of(coder).get(reverse(f"sob:{name}", args=args)).content.decode()
    head, figure = page.index("<h1>"), min(page.find(part) for part in ("<table", "<figure") if part in page)
    assert not BOXES.search(page[page.index("<main") : figure])
    assert '<span class="tag machine">Invented answers' in page[head:figure]
    assert 'class="lead"' not in page[figure:]
    assert figure < page.index('<aside class="caveat">') < page.index('<details class="why">')
    assert "does not deny that oppression exists" in page[figure : page.index('<details class="why">')]
    assert page.count('<details class="why">') == 1
