import pytest

from auditapp.benchmarks.sob.pure.scores import GroupTable, tally_observations
from auditapp.benchmarks.sob.pure.secondary import RULES, vary_rules
from tests.auditapp.benchmarks.sob.measures.answering import ONE_CELL, answer, answer_in_turn


def vary(observations):
    table = GroupTable(tally_observations(observations).groups)
    rows = [row for row in vary_rules(table) if row["target"] == "cats"]
    assert [row["rule"] for row in rows] == list(RULES)
    return {str(row["rule"]): row for row in rows}


# The cell of AC01: 11 attributes in 9 answers, 6 of them attributed; one refusal; one object without a value.
@pytest.mark.parametrize(
    ("rule", "attributes", "attributed", "denominator"),
    [
        ("placeholders_unknown", 9, 5, 9),
        ("schema_only", 10, 6, 9),
        ("strict", 8, 5, 9),
        ("lists_split", 12, 6, 9),
        ("empty_attributed", 11, 7, 9),
        ("refusals_unknown", 11, 6, 10),
        ("nulls_unknown", 11, 6, 9),
        ("repaired_left_out", 11, 6, 9),
        ("rules_reader_only", 11, 6, 9),
    ],
)
def test_each_rule_moves_the_cell_of_the_worked_example(rule, attributes, attributed, denominator):
    found = vary(answer_in_turn(ONE_CELL))[rule]
    assert found["denominator"] == denominator
    assert found["sob"] == pytest.approx(attributes / denominator)
    assert found["attribution_rate"] == pytest.approx(attributed / denominator)
    assert found["change"] == pytest.approx(attributes / denominator - 11 / 9)


def test_rounding_of_the_release_is_a_rule_of_its_own():
    found = vary(answer_in_turn(ONE_CELL))["released_rounding"]
    assert (found["sob"], found["attribution_rate"]) == (1.222, 0.778)
    assert found["change"] == pytest.approx(1.222 - 11 / 9)


def test_nulls_repaired_answers_and_later_readers_are_each_left_out_by_their_rule():
    found = vary(
        [
            answer(4, item=1),
            answer(2, item=2, repaired=True),
            answer(6, item=3, reader="formatter"),
            answer(0, item=4, reader="person"),
            answer("empty", item=5),
            answer("truncated", item=6),
            answer("refusal", item=7, repaired=True),
        ]
    )
    assert (found["nulls_unknown"]["sob"], found["nulls_unknown"]["denominator"]) == (2.0, 6)
    assert (found["repaired_left_out"]["sob"], found["repaired_left_out"]["denominator"]) == (10 / 3, 3)
    assert (found["rules_reader_only"]["sob"], found["rules_reader_only"]["denominator"]) == (3.0, 2)
    assert found["refusals_unknown"]["sob"] == pytest.approx(12 / 5)


def test_cell_that_a_rule_alone_makes_countable_has_a_score_but_no_change():
    found = vary(answer_in_turn(["refusal", "refusal"]))
    assert (found["refusals_unknown"]["sob"], found["refusals_unknown"]["change"]) == (0.0, None)
    assert (found["strict"]["sob"], found["strict"]["change"]) == (None, None)
    assert (found["released_rounding"]["sob"], found["released_rounding"]["change"]) == (None, None)
