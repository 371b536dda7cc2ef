import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.codebook.pure.keyword_rules import (
    MAX_RULE_LENGTH,
    check_rule,
    compile_rules,
    find_places,
    find_words,
)


def find(rule, text):
    """The words by which a rule holds; ``None`` where it does not."""
    found = compile_rules({"code": [rule]}).find(text)
    return text[found[0][2] : found[0][3]] if found else None


@pytest.mark.parametrize(
    ("rule", "text", "words"),
    [
        ("culture", "Of Culture, and more.", "Culture"),
        ("culture", "Subcultures differ.", None),
        ("stereotyp*", "They are stereotypes.", "stereotypes"),
        ('"social identit*"', "A **social** *identity* it is.", "social** *identity"),
        ('"social identity"', "An identity, social in kind.", None),
        ("stereotyp*", "So says one stereotyp.", "stereotyp"),
        ('"on the other hand"', "It is on the other", None),
        ("race & class", "Class, gender and race.", "race"),
        ("race & class", "Race and gender.", None),
        ("race - joke", "It was about race.", "race"),
        ("race - joke", "A joke about race.", None),
        ("race - “bad joke” & class", "Race, class and a joke.", "Race"),
        ("well-being", "Their well being counts.", "well being"),
        ("don't", "I don’t know.", "don’t"),
        ("women", "The women's march.", "women"),
    ],
)
def test_what_a_rule_finds(rule, text, words):
    assert find(rule, text) == words


@pytest.mark.parametrize(
    ("rule", "text", "words"),
    [
        ("STRASSE", "Die Straße hier.", "Straße"),
        ("été", "L'e\u0301te\u0301 arrive.", "e\u0301te\u0301"),
        ("identity", "Their iden\u00adtity.", "iden\u00adtity"),
        ("identity", "Their iden\u200btity\u202e.", "iden\u200btity"),
        ("文化", "这个文化很老", "文化"),
        ("ﬁx", "We fix it.", "fix"),
        ("istanbul*", "İSTANBULLU", None),
        ("😀 x", "", None),
    ],
)
def test_letters_are_compared_folded_and_found_where_they_stand(rule, text, words):
    if check_rule(rule):
        assert words is None
        return
    assert find(rule, text) == words


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "has no word"),
        ("- joke", "must begin with a word"),
        ("race &", "ends with a sign"),
        ("race & & class", "missing before &"),
        ("race class", "write two lines"),
        ('"social identity', "not closed"),
        ("*", "not at the end of a word"),
        ("ster*type", "not at the end of a word"),
        ("(a+)+$", "has no meaning"),
        ("race|class", "write two lines"),
        ('"..."', "has no word"),
        ("x" * (MAX_RULE_LENGTH + 1), "at most 200 characters"),
        ("race\x00", "control character"),
    ],
)
def test_what_is_no_rule_is_said_in_a_sentence(line, says):
    assert says in check_rule(line)


def test_a_code_is_proposed_once_by_the_first_of_its_rules_that_holds():
    matcher = compile_rules({"a": ["nothing", "race", "class"], "b": ["class"]})
    found = matcher.find("Class and race.")
    assert [(code, rule) for code, rule, _, _ in found] == [("a", "race"), ("b", "class")]


@given(st.text(max_size=80))
def test_a_place_is_that_of_the_word_in_any_text(text):
    words, places = find_words(text), find_places(text)
    assert len(words) == len(places)
    assert [find_words(text[start:end]) for start, end in places] == [[word] for word in words]


@given(st.text(max_size=60))
def test_any_line_is_a_rule_or_told_why_it_is_none(line):
    if not check_rule(line):
        compile_rules({"code": [line]}).find(line)


def test_no_rules_make_the_time_grow_faster_than_the_text():
    """A thousand phrases of sixty open words, each of which begins everywhere and ends nowhere."""
    rules = compile_rules({f"c{number}": [f'"{"a* " * 60}b{number}"'] for number in range(1000)})
    plain = compile_rules({f"c{number}": [f"b{number}"] for number in range(1000)})

    def measure(matcher, words):
        text = "ab " * words
        matcher.find("ab")
        began = time.process_time()
        assert matcher.find(text) == []
        return time.process_time() - began

    short, long = (min(measure(rules, words) for _ in range(3)) for words in (3_000, 30_000))
    assert long < 40 * short
    # Each word used to be compared with every word of every rule: thousands of times as long as plain rules.
    assert short < 200 * max(min(measure(plain, 3_000) for _ in range(3)), 0.0002)


def test_terms_side_by_side_are_not_taken_for_one():
    assert find('"a b" & "c d"', "a b c d") == "a b"
    assert find('"a b" & "c d"', "b c") is None
    assert find('"a a b" & c', "a a a b, c") == "a a b"
