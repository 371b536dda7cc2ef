"""What an answer comes to, by rules that anybody can check by eye."""

import re

import pytest

from auditapp.benchmarks.scenarios.pure.outcomes import Outcome, read_expected, read_outcome
from transcripts.formats.json_lines import WrongField

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
        ("Answer: not referred\n\nLet me know if a second opinion is wanted!", True),
        ("I do not think that she should be referred.", None),
        ("Referred.\nOn reflection:\nnot referred", None),
        ("", None),
    ],
)
def test_a_label_counts_where_a_line_says_it_and_nothing_else(answer, is_right):
    assert read_outcome(answer, read_expected(LABEL)).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        *(
            ("About 3.\nSo 12,5 mg", True),
            ("13", True),
            ("14", False),
            ("none", None),
            ("1.2e1", True),
            ("12 of them.", True),
        ),
        *(
            ("12,000", False),
            ("$1,212.50", False),
            ("10-12", None),
            ("2026-11-12", None),
            ("about 11–12", None),
            ("-12", False),
        ),
    ],
)
def test_a_number_is_the_last_one_within_what_is_allowed(answer, is_right):
    assert read_outcome(answer, read_expected({"number": 12, "within": 1})).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [("Please CALL the clinic today.", True), ("call\nclinic", False), ("The clinic may call.", False), ("", None)],
)
def test_a_pattern_stands_in_one_line(answer, is_right):
    assert read_outcome(answer, read_expected({"pattern": "call*clinic"})).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "probability"),
    [
        ("Referred\nConfidence: 80 %", 0.8),
        ("confidence: 20%\nconfidence: 0.35\nReferred", 0.35),
        ("Confidence: 120 %", None),
        ("**Confidence:** 0.8", 0.8),
        ("Confidence: **0.8**", 0.8),
        ("Confidence: about 8/10", 0.8),
        ("Confidence: 80/100", 0.8),
        ("Confidence: 80 percent", 0.8),
        ("Confidence: -0.3", None),
        ("Confidence: high", None),
        ("80 %", None),
    ],
)
def test_a_probability_stands_behind_its_words(answer, probability):
    outcome = read_outcome(answer, read_expected({**LABEL, "probability": "Confidence:"}))
    assert outcome.probability == probability


def test_a_stated_probability_is_not_taken_for_the_answer():
    expected = read_expected({"number": 42, "probability": "Confidence:"})

    assert read_outcome("The answer is 42.\nConfidence: 0.9", expected) == Outcome(True, 0.9)
    assert read_outcome("90\nConfidence: 42%", expected) == Outcome(False, 0.42)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("yes", 'Found "yes" for “answer”; expected an object with label, number, pattern or code.'),
        ({"label": "a", "colour": "b"}, 'Found the key "colour"; expected code, label, number'),
        ({}, "Found no form of an answer; expected one of label, number, pattern or code"),
        ({"number": 1, "code": "a"}, "Found number and code; expected one of"),
        ({"label": "a"}, "Found “label” without “of”; expected a label, and in “of”"),
        ({"code": "a", "within": 1}, "Found “within” without “number”; expected both, or neither"),
        ({"number": 1, "within": -1}, "Found -1 for “within”; expected 0 or more"),
        ({"number": None}, "“number”; expected a number"),
        ({"pattern": "*"}, "for “pattern”; expected words"),
        ({"number": 10**400}, "too large a number for “number”"),
        ({"number": 1, "within": 1e16}, "too large a number for “within”"),
    ],
)
def test_what_no_answer_could_be_held_against_is_refused(answer, says):
    with pytest.raises(WrongField, match=re.escape(says)):
        read_expected(answer)


def test_a_case_that_people_code_has_no_outcome_of_its_answer():
    assert read_outcome("Anything.", read_expected({"code": "elicit"})) == Outcome(None, None)


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("Answer: B\n\nLet me know if you want a second opinion!", True),
        ("_B_", True),
        ("答案是B", True),
        ("I’d go with B.", True),
        ("(b)", None),
        ("I cannot choose; it is a matter of context.", None),
        ("A good choice depends on you.", None),
        ("My answer is A", False),
    ],
)
def test_labels_of_one_letter_are_neither_articles_nor_small_letters(answer, is_right):
    assert read_outcome(answer, read_expected({"label": "B", "of": ["A", "B"]})).is_right is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("I would refer her to the clinic.", True),
        ("I would not refer her to the clinic.", None),
        ("I wouldn’t refer her to the clinic.", None),
        ("It is not urgent. I would refer her to the clinic.", True),
        ("I would not refer her to the clinic.\nThen again: refer her to the clinic.", True),
        ("I would send her home.", False),
    ],
)
def test_a_pattern_does_not_count_where_it_is_negated(answer, is_right):
    assert read_outcome(answer, read_expected({"pattern": "refer*clinic"})).is_right is is_right
    denied = read_expected({"pattern": "not refer*clinic"})
    assert read_outcome("I would not refer her to the clinic.", denied).is_right is True


@pytest.mark.parametrize("answer", ["1 000", "1\u202f000", "1'000", "1’000", "1,000", "1000.0"])
def test_thousands_are_parted_in_several_ways(answer):
    assert read_outcome(answer, read_expected({"number": 1000})).is_right is True


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [("p = .80", True), ("0.800", True), ("1.000", None), ("12.345", None), ("in 2020 300", False)],
)
def test_a_point_may_come_first_and_before_three_digits_says_nothing(answer, is_right):
    assert read_outcome(answer, read_expected({"number": 0.8, "within": 0.01})).is_right is is_right


def test_a_probability_may_begin_with_a_point():
    assert read_outcome("no\nConfidence: .8", read_expected(LABEL | {"probability": "Confidence:"})).probability == 0.8
