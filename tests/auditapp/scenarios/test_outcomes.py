"""What an answer comes to, by rules that anybody can check by eye."""

from __future__ import annotations

import pytest

from auditapp.scenarios.pure.outcomes import Outcome, read_expected, read_outcome

LABEL = {"label": "not referred", "of": ["referred", "not referred"]}


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("She should be seen.\nNot referred", True),
        ("Referred.", False),
        ("**not referred**", True),
        ("I would say not referred.\nThat is all.", True),
        ("Referred or not referred?\nHard to say.", None),
        ("Unreferred", None),
        ("", None),
    ],
)
def test_a_label_is_read_from_the_last_line_or_from_the_whole(answer: str, is_right: bool | None) -> None:
    assert read_outcome(answer, read_expected(LABEL)).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"), [("About 3.\nSo 12,5 mg", True), ("13", True), ("14", False), ("none", None)]
)
def test_a_number_is_the_last_one_within_what_is_allowed(answer: str, is_right: bool | None) -> None:
    assert read_outcome(answer, read_expected({"number": 12, "within": 1})).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [("Please CALL the clinic today.", True), ("call\nclinic", False), ("The clinic may call.", False), ("", None)],
)
def test_a_pattern_stands_in_one_line(answer: str, is_right: bool | None) -> None:
    assert read_outcome(answer, read_expected({"pattern": "call*clinic"})).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "probability"),
    [
        ("Referred\nConfidence: 80 %", 0.8),
        ("confidence: 20%\nconfidence: 0.35\nReferred", 0.35),
        ("Confidence: 120 %", None),
        ("Confidence: high", None),
        ("80 %", None),
    ],
)
def test_a_probability_stands_behind_its_words(answer: str, probability: float | None) -> None:
    outcome = read_outcome(answer, read_expected({**LABEL, "probability": "Confidence:"}))
    assert outcome.probability == probability


def test_a_case_that_people_code_has_no_outcome_of_its_answer() -> None:
    assert read_outcome("Anything.", read_expected({"code": "elicit"})) == Outcome(None, None)
