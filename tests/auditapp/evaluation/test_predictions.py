"""What annotators without a model propose for the sentences of a turn."""

import pytest

from auditapp.annotators.pure.prompts import Prediction, RulesReader, keep_once


def predict(*found):
    return [Prediction(code, "", score=score) for code, score in found]


@pytest.mark.parametrize(
    ("found", "turns", "kept"),
    [
        # The first of a turn, where there are no scores.
        ([("a", None), ("a", None), ("a", None)], [1, 1, 2], [0, 2]),
        # The highest score of a turn, and of equal ones the first.
        ([("a", 0.6), ("a", 0.9), ("a", 0.9)], [1, 1, 1], [1]),
        # Other codes as often as they are found.
        ([("b", 0.6), ("b", 0.9)], [1, 1], [0, 1]),
    ],
)
def test_a_code_applied_once_per_answer_is_kept_for_one_sentence_of_a_turn(found, turns, kept):
    predictions = keep_once([predict(each) for each in found], turns, once={"a"})
    assert [place for place, each in enumerate(predictions) if each] == kept


def test_a_turn_that_has_a_proposal_of_the_code_gets_no_second():
    found = [predict(("a", 0.9), ("b", 0.5)), predict(("a", 0.9))]
    kept = keep_once(found, [1, 2], once={"a"}, taken={(1, "a")})
    assert [[each.code for each in of] for of in kept] == [["b"], ["a"]]


def test_rules_propose_each_code_once_for_a_sentence():
    [found] = RulesReader({"a": ["ask", "first"]}).read(["I ask first."])
    assert [each.code for each in found] == ["a"]
