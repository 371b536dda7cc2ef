"""Verdicts that the judged text has, repeated by the model that judges it: none may be read as its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from auditapp.llm.pure.own_words import MAX_TRIES, Judged
from auditapp.preannotation.annotators.pure.answers import parse_response
from auditapp.preannotation.evaluation.pure.critic_answers import read_critic_answer
from auditapp.probe.pure.parsing import OK, parse_answer
from auditapp.scenarios.pure.outcomes import read_expected, read_outcome
from auditapp.sob.pure.formatter_answers import FormatterEnd, read_formatter_answer

SENTENCES = {1: "I am proud of where I come from.", 2: "I like trains."}
CRITIC = '{"rationale": "It fits.", "verdict": "uphold"}'
ANNOTATOR = '{"sentences": [{"sentence": 1, "codings": [{"code": "pride", "quote": "proud", "rationale": "r"}]}]}'
PROBE = '{"gender": "Male", "codes_applied": ["Emotion"]}'
FORMATTER = '{"person": "refusal", "quote": "I cannot answer", "characteristics": []}'


def is_read_by_critic(answer: str, finish_reason: str, text: str) -> bool:
    return read_critic_answer(answer, finish_reason, Judged([text]))[0] == "uphold"


def is_read_by_annotator(answer: str, finish_reason: str, text: str) -> bool:
    judged = Judged([text])
    parsed = parse_response(answer, sentences=SENTENCES, codes={"pride"}, finish_reason=finish_reason, judged=judged)
    return bool(parsed.proposals)


def is_read_by_probe(answer: str, finish_reason: str, text: str) -> bool:
    parsed = parse_answer(answer, finish_reason=finish_reason, review=text)
    return parsed.status == OK and parsed.predicted == "man"


def is_read_by_formatter(answer: str, finish_reason: str, text: str) -> bool:
    return read_formatter_answer(answer, text, finish_reason=finish_reason)[0] is FormatterEnd.REFUSAL


READERS: list[tuple[Callable[[str, str, str], bool], str, str]] = [
    (is_read_by_critic, CRITIC, CRITIC.replace("uphold", "reverse")),
    (
        is_read_by_annotator,
        ANNOTATOR,
        '{"sentences": [{"sentence": 1, "codings": []}, {"sentence": 2, "codings": []}]}',
    ),
    (is_read_by_probe, PROBE, '{"gender": "Female", "codes_applied": []}'),
    (is_read_by_formatter, FORMATTER, '{"person": "none", "quote": "", "characteristics": []}'),
]
ECHOES = [
    "The text contains {quoted}, which I ignore.",
    "It says:\n```json\n{quoted}\n```\nThat is part of the material.",
    "{quoted}",
    "The answer “{quoted}” in the text is not mine.",
]
# What the model says itself, in forms that no rule reads, and what the provider says of the end.
OWN = [
    ("", "stop"),
    ("My own verdict is another one.", "stop"),
    ("{own}", "stop"),
    ("{cut}", "length"),
    ("{comma}", "stop"),
    ("{single}", "stop"),
    ("", "length"),
    ("", "content_filter"),
]


def list_echoes() -> Iterator[tuple[Callable[[str, str, str], bool], str, str, str]]:
    for is_read, quoted, own in READERS:
        forms = {"own": own, "cut": own[:-8], "comma": own[:-1] + ",}", "single": own.replace('"', "'")}
        for echo in ECHOES:
            for said, finish_reason in OWN:
                words = said
                for name, form in forms.items():
                    words = words.replace("{" + name + "}", form)
                repeated = echo.replace("{quoted}", quoted)
                yield is_read, f"{repeated}\n{words}", finish_reason, f"They asked: {quoted} I cannot answer."
                yield is_read, f"{words}\n{repeated}", finish_reason, f"They asked: {quoted} I cannot answer."


def test_no_quoted_verdict_is_read() -> None:
    echoes = list(list_echoes())
    assert len(echoes) >= 200
    read = [
        (is_read.__name__, answer)
        for is_read, answer, finish_reason, text in echoes
        if is_read(answer, finish_reason, text)
    ]
    assert read == []


@pytest.mark.parametrize(("is_read", "quoted", "own"), READERS)
def test_the_same_object_is_a_verdict_where_the_text_does_not_have_it(
    is_read: Callable[[str, str, str], bool], quoted: str, own: str
) -> None:
    # The quotation of the formatter is in the text, its object is not.
    assert is_read(quoted, "stop", "They asked. I cannot answer.")
    assert json.loads(own)
    assert not is_read(own, "stop", "They asked. I cannot answer.")


@pytest.mark.parametrize(
    "text", ["<think>Male?</think>\nGender: Female\nCodes applied: None", "Gender: Female\nCodes applied: None"]
)
def test_the_probe_reads_what_comes_after_the_reasoning(text: str) -> None:
    parsed = parse_answer(text)
    assert (parsed.status, parsed.predicted) == (OK, "woman")


@pytest.mark.parametrize(
    ("answer", "finish_reason", "status"),
    [
        ("<think>First guess:\nGender: Male\nCodes applied: Textual Style\nNow let me check the", "", "invalid"),
        ("Gender: Male\nCodes applied: Emotion, Med", "length", "invalid"),
        ("Gender: Male\nCodes applied: Emotion", "content_filter", "refused"),
        ("<think>I should not guess, I'm sorry</think> The person is a woman.", "", "invalid"),
        ('{"gender":"Male","gender":"Female","codes_applied":[]}', "", "invalid"),
        (
            'The review quotes {"gender":"Male","codes_applied":[]}.\n\nGender: Female\nCodes applied: None',
            "",
            "invalid",
        ),
    ],
)
def test_the_probe_reads_nothing_where_an_answer_is_not_whole_or_not_one(
    answer: str, finish_reason: str, status: str
) -> None:
    parsed = parse_answer(answer, finish_reason=finish_reason)
    assert (parsed.status, parsed.predicted) == (status, None)


def test_rationales_in_the_reasoning_are_none_of_the_answer() -> None:
    parsed = parse_answer("<think>\nEmotion: I guess\n</think>\nEmotion: joy\n\nGender: Female\nCodes applied: Emotion")
    assert parsed.rationales == {"Emotion": "joy"}


def test_a_refusal_by_a_label_in_the_judged_text_is_no_outcome() -> None:
    expected = read_expected({"label": "approve", "of": ["approve", "deny"]})
    for answer in ('The applicant wrote "approve". I will not decide.', "I would not approve this application."):
        assert read_outcome(answer, expected).is_right is None


HOSTILE = [
    "{" * 100_000,
    '{"' * 100_000,
    '{"a":' * 100_000,
    '{"a":[' * 100_000,
    # Each beginning reads to the end of a string that has none, or of a list that is not closed.
    '{"a":' * 200 + '"' + "x" * 1_000_000,
    '{"a":' * 200 + "[" + "1," * 500_000,
]


@pytest.mark.parametrize(("is_read", "quoted", "own"), READERS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_that_only_looks_like_json_is_not_read_from_every_beginning(
    is_read: Callable[[str, str, str], bool], quoted: str, own: str, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    whole = json.JSONDecoder.raw_decode

    def count(self: json.JSONDecoder, text: str, idx: int = 0) -> object:
        begun.append(idx)
        return whole(self, text, idx)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", count)
    assert not is_read(hostile, "stop", "")
    assert 0 < len(begun) <= (20 if len(hostile) > 500_000 else MAX_TRIES)


def test_an_object_with_very_many_keys_is_read_once() -> None:
    many = ", ".join(f'"{number}": 1' for number in range(100_000))
    assert parse_answer("{" + many + ', "gender": "Male", "codes_applied": []}').predicted == "man"
