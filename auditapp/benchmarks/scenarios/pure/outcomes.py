"""The outcome of an answer: whether it is the expected one, and the probability that it states. Paper 001, Table 4B.

An outcome is read by rules that anybody can check by eye. An answer that the rules cannot read has no outcome, and is counted as
such.

Whether a code applies in a thread, according to its coders' blind labels and to adjudications.

A unit is a sentence, a turn or the thread, depending on the code's family. It counts as adjudicated if an adjudication, for one of
the readings or for another one, differs from a reading. In other units, labels count if they agree about this code; if they do not,
there is no result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from auditapp.llm.pure.json_answers import takes_back
from transcripts.formats.json_lines import WrongField, list_choices, refuse_field, refuse_others, shorten
from transcripts.formats.thinking import split_thinking

MAX_PATTERN = 200
# Thousands in groups, or digits; a decimal point, or a comma that does not separate groups; an exponent.
_NUMBER = re.compile(
    r"[-+−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?!\d)(?:[.,]\d{1,30})?"
    r"|\d{1,30}(?:(?:\.\d{3}){2,}|\.\d{1,30}|,\d{1,2}(?!\d))?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?"
)
# A point before three digits separates thousands in many languages, and is a decimal point in others.
_POINT_OF_TWO_MEANINGS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_STATED = re.compile(
    r"[\s*_:=]*(?:about|around|roughly|approximately|ca\.|~|≈)?\s*(-?(?:\d{1,30}(?:[.,]\d{1,30})?|\.\d{1,30}))"
    r"(?:\s*(%|percent|/\s*100?\b))?"
)
# What may come before a label on its line: numbering, marks, and a word for the answer.
_NAMED = r"(?:answer|choice|decision|verdict|label|recommendation|option|conclusion|response)"
_LEAD = re.compile(
    rf"[\W_\d]*(?:(?:(?:so|therefore|thus|hence),?\s+)?(?:(?:my|the)\s+)?(?:final\s+|best\s+)?{_NAMED}\s*(?:is|would\s+be|[:：=-])?"
    r"|i(?:['’]d|\s+would)?\s+(?:choose|pick|select|answer|say|recommend|go\s+with|decide\s+on)\s*:?|答案(?:是)?\s*[:：]?)?[\W_]*",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|nor|neither|none|without|cannot|refus\w+|declin\w+|against|instead\s+of|rather\s+than|avoid\w*)\b|n['’]t\b"
)
MAX_NUMBER = 1e15
_FORMS = ("label", "number", "pattern", "code")
_KEYS = {"label", "of", "number", "within", "pattern", "code", "probability"}


@dataclass(frozen=True)
class Expected:
    """What an answer is compared with, in one of four forms.

    - ``label``: the one of ``labels`` that the answer has to name;
    - ``number``: the answer may differ from it by at most ``within``;
    - ``pattern``: a text that a line of the answer has to contain, in which * means any text;
    - ``code``: the identifier of a code that people apply to the thread; the outcome comes from their codings.

    ``probability`` is the text before the probability that the model is asked to state, such as "Confidence:".
    """

    label: str = ""
    labels: tuple[str, ...] = ()
    number: float | None = None
    within: float = 0.0
    pattern: str = ""
    code: str = ""
    probability: str = ""


class Outcome(NamedTuple):
    """``is_right``: whether it is the expected answer, None if this cannot be determined. ``probability``: from 0 to 1, None if
    none is stated."""

    is_right: bool | None
    probability: float | None


def read_expected(content: object) -> Expected:
    """The expected answer in the field ``answer`` of a case. Raises ``WrongField`` if answers cannot be compared with it."""
    if not isinstance(content, dict):
        raise refuse_field({"answer": content}, ["answer"], "an object with label, number, pattern or code")
    refuse_others(content, _KEYS)
    forms = [form for form in _FORMS if form in content]
    if len(forms) != 1:
        found = " and ".join(forms) or "no form of an answer"
        raise WrongField(found, f"one of {list_choices(_FORMS)}")
    if ("of" in content) != ("label" in content):
        found = "“label” without “of”" if "label" in content else "“of” without “label”"
        raise WrongField(found, "a label, and in “of” those that the model may choose from")
    if "within" in content and "number" not in content:
        raise WrongField("“within” without “number”", "both, or neither")
    labels = _read_labels(content)
    _check_values(content)
    return Expected(
        label=content.get("label", ""),
        labels=labels,
        number=content.get("number"),
        within=content.get("within", 0.0),
        pattern=content.get("pattern", ""),
        code=content.get("code", ""),
        probability=content.get("probability", ""),
    )


def _check_values(content: dict[str, Any]) -> None:
    for key in ("label", "pattern", "code", "probability"):
        if key in content and not (isinstance(content[key], str) and 0 < len(content[key].strip()) <= MAX_PATTERN):
            raise refuse_field(content, [key], f"a text of 1 to {MAX_PATTERN} characters")
    for key in ("number", "within"):
        if key in content and (isinstance(content[key], bool) or not isinstance(content[key], int | float)):
            raise refuse_field(content, [key], "a number")
        if abs(content.get(key, 0)) > MAX_NUMBER:
            raise WrongField(f"too large a number for “{key}”", f"one of at most {MAX_NUMBER:.0e}, in either direction")
    if content.get("within", 0) < 0:
        raise refuse_field(content, ["within"], "0 or more")
    if "pattern" in content and not content["pattern"].replace("*", "").strip():
        raise refuse_field(content, ["pattern"], "words, in which * is anything")


def _read_labels(content: dict[str, Any]) -> tuple[str, ...]:
    if "of" not in content:
        return ()
    labels = content["of"]
    if not isinstance(labels, list) or not all(isinstance(each, str) and each.strip() for each in labels):
        raise refuse_field(content, ["of"], "a list of labels, each a text")
    folded = [each.strip().casefold() for each in labels]
    if len(labels) < 2 or len(set(folded)) < len(folded):
        raise refuse_field(content, ["of"], "at least two labels, each once")
    if content["label"].strip().casefold() not in folded:
        raise WrongField(f"the label {shorten(content['label'])}", "one of those in “of”")
    return tuple(each.strip() for each in labels)


def read_outcome(answer: str, expected: Expected) -> Outcome:
    """The outcome of an answer. If people code the outcome of the case, only the probability is read here.

    A label counts if it is alone on a line, except for marks or a lead such as "Answer:". Upper and lower case are the same, except
    for labels of one letter. If no line has a label, or lines have different ones, there is no outcome: courtesy, articles and
    negations are not answers. There is no outcome either if words after the label or the number refuse to answer. A pattern counts
    if the sentence up to its end is not negated; if it is negated in all lines that contain it, there is no outcome. A number is
    the last one on the last line that has one. Commas, spaces and apostrophes separate thousands, but a comma before one or two
    digits is a decimal comma. There is no outcome for a range, for a date, or for a number such as 1.000, which is a thousand in
    some languages. A stated probability is not an answer.
    """
    probability = None
    if expected.probability:
        probability, answer = _take_probability(answer, expected.probability)
    if expected.labels:
        said = _find_label(answer, expected.labels)
        return Outcome(None if said is None else said.casefold() == expected.label.strip().casefold(), probability)
    if expected.number is not None:
        number = _find_number(answer)
        return Outcome(None if number is None else abs(number - expected.number) <= expected.within, probability)
    if expected.pattern:
        return Outcome(_find_pattern(answer, expected.pattern) if answer.strip() else None, probability)
    return Outcome(None, probability)


def _find_label(answer: str, labels: tuple[str, ...]) -> str | None:
    lines = answer.splitlines()
    said = {place: label for place, line in enumerate(lines) if (label := _read_line(line, labels)) is not None}
    if len(set(said.values())) != 1 or takes_back("\n".join(lines[max(said) + 1 :])):
        return None
    return next(iter(said.values())).casefold()


def _read_line(line: str, labels: tuple[str, ...]) -> str | None:
    """The label in a line, if the line contains nothing else."""
    words = line.strip().strip("*_`#>\"'“”‘’()[]{}.!。！ \t")
    for said in (words, words[_LEAD.match(words).end() :]):  # type: ignore[union-attr]  # it matches the empty text
        for label in labels:
            bare = label.strip("*_`\"'“”‘’()[]{}.! ") or label
            if said in {label, bare} or (len(label) > 1 and said.casefold() in {label.casefold(), bare.casefold()}):
                return label
    return None


def _find_number(answer: str) -> float | None:
    lines = answer.splitlines()
    for place in reversed(range(len(lines))):
        line = lines[place]
        *_, last = (None, *_NUMBER.finditer(line))
        if last is not None:
            following = "\n".join([line[last.end() :], *lines[place + 1 :]])
            return None if takes_back(following) else _read_number(line, last)
    return None


def _read_number(line: str, found: re.Match[str]) -> float | None:
    before, text = line[: found.start()], found.group().replace("−", "-")
    if text[0] in "-+" and before[-1:].isalnum():
        return None  # 10-12 is a range, 2026-11-24 a date
    if before[-1:] in "-–/.," and before[-2:-1].isdigit():
        return None
    if _POINT_OF_TWO_MEANINGS.fullmatch(text):
        return None
    text = re.sub(r"[ \u00a0\u2009\u202f'’]", "", text)
    text = text.replace(",", ".") if re.search(r",\d{1,2}(?:[eE]|$)", text) else text.replace(",", "")
    value = float(text)
    return value if abs(value) <= MAX_NUMBER else None


def _find_pattern(answer: str, pattern: str) -> bool | None:
    """Whether the parts of the pattern follow one another in a line. The search goes from left to right, so its time is
    proportional to the length of the answer. None if each such line negates something before the last part."""
    parts = [part for part in pattern.casefold().split("*") if part.strip()]
    is_denied = False
    for line in answer.casefold().splitlines():
        place = 0
        for part in parts:
            place = line.find(part, place)
            if place < 0:
                break
            place += len(part)
        else:
            if not _is_negated(line[:place], pattern):
                return True
            is_denied = True
    return None if is_denied else False


def _is_negated(words: str, pattern: str) -> bool:
    """Whether the sentence at the end of ``words`` has more negations than the pattern itself."""
    sentence = re.split(r"[.!?;]\s", words)[-1]
    return len(_NEGATION.findall(sentence)) > len(_NEGATION.findall(pattern.casefold()))


def _take_probability(answer: str, before: str) -> tuple[float | None, str]:
    """The probability after the last occurrence of ``before``, and the answer without it: 0.8, 80 %, 80/100 and 8/10 are the same.
    None if there is none, or if it is not from 0 to 1."""
    *_, last = (None, *re.finditer(re.escape(before), answer, re.IGNORECASE))
    found = _STATED.match(answer, last.end()) if last else None
    if last is None or found is None:
        return None, answer
    rest = answer[: last.start()] + answer[found.end() :]
    unit = "".join((found.group(2) or "").split())
    whole = {"%": 100, "percent": 100, "/100": 100, "/10": 10}.get(unit, 1)
    value = float(found.group(1).replace(",", ".")) / whole
    return (value if 0 <= value <= 1 else None), rest


ADJUDICATED, AGREED, SINGLE, DISPUTED, UNREAD = "adjudicated", "agreed", "single", "disputed", "unread"
BASES = (ADJUDICATED, AGREED, SINGLE, DISPUTED, UNREAD)
"""What the outcome of a thread rests on: a decision, two coders or more, one coder; or why there is none: coders disagree and
nobody has decided, or not everything is read."""


class UnitReading(NamedTuple):
    """What is known about one code in one unit: whether each coder who decided the unit applied it; whether it applies according to
    an adjudication, None without one; and whether the unit has to be decided before the thread counts as read."""

    readings: Sequence[bool]
    adjudicated: bool | None = None
    is_needed: bool = True


class ThreadReading(NamedTuple):
    """Whether the code applies in the thread, None if this is undecided; and the basis of the result, one of ``BASES``."""

    holds: bool | None
    basis: str


def read_thread(units: Iterable[UnitReading]) -> ThreadReading:
    """Whether the code applies in a thread. It does if it applies in at least one unit. It does not if it applies in no unit, every
    needed unit was decided, and none is disputed."""
    bases: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
    for unit in units:
        holds, basis = _read_unit(unit)
        if basis != UNREAD or unit.is_needed:
            bases[holds].add(basis)
    if bases[True]:
        # One unit is enough, so the strongest basis counts.
        return ThreadReading(True, next(basis for basis in (AGREED, ADJUDICATED, SINGLE) if basis in bases[True]))
    for basis in (DISPUTED, UNREAD):
        if basis in bases[None]:
            return ThreadReading(None, basis)
    if not bases[False]:
        return ThreadReading(None, UNREAD)
    # That the code applies nowhere depends on every unit, so the weakest basis counts.
    return ThreadReading(False, next(basis for basis in (ADJUDICATED, SINGLE, AGREED) if basis in bases[False]))


def _read_unit(unit: UnitReading) -> ThreadReading:
    said = set(unit.readings)
    if unit.adjudicated is not None and said != {unit.adjudicated}:
        return ThreadReading(unit.adjudicated, ADJUDICATED)
    if not said:
        return ThreadReading(None, UNREAD)
    if len(said) > 1:
        return ThreadReading(None, DISPUTED)
    return ThreadReading(said.pop(), AGREED if len(unit.readings) > 1 else SINGLE)


def describe_readings(report: Mapping[str, object]) -> str:
    """One or two sentences on which labels determine the outcomes of cases that name a code; "" if no case names one."""
    counts = report.get("readings")
    if not isinstance(counts, Mapping):
        return ""
    total = sum(counts.values())
    threads = f"{total:,} thread{'' if total == 1 else 's'} of cases that name a code"
    if report["coder"]:
        return (
            f"The outcomes of {threads} come only from the blind codings of {report['coder']}; adjudications are not used. "
            f"{counts[UNREAD]:,} have none, because {report['coder']} has not decided all of them."
        )
    return (
        f"The outcomes of {threads} come from the blind codings of all coders: {counts[ADJUDICATED]:,} adjudicated, "
        f"{counts[AGREED]:,} on which two or more coders agree, {counts[SINGLE]:,} from only one coder. No outcome: "
        f"{counts[DISPUTED]:,} on which coders disagree without adjudication, {counts[UNREAD]:,} not read to the end."
    )


# A turn of a thread: role, channel, kind of prompt, text.
PlainTurn = tuple[str, str, str, str]
WAITING = "waiting"
ANSWERED = "answered"
TRUNCATED = "truncated"
EMPTY = "empty"
REFUSED = "refused"
FAILED = "failed"

HAVE_ANSWER = frozenset({ANSWERED, TRUNCATED, REFUSED})
"""States in which the model has said something, so that the conversation can continue."""

LABELS = {
    WAITING: "Waiting for the answer",
    ANSWERED: "Answered",
    TRUNCATED: "Answer cut off at the output limit",
    EMPTY: "Empty answer",
    REFUSED: "Answer withheld by the provider's filter",
    FAILED: "No answer",
}

# The words of OpenAI, Anthropic and compatible providers for an answer that reached the output limit, and for one that was ended by
# a filter or the model's own policy.
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "sensitive"})
# The question marks of Latin, East Asian, Arabic, Armenian, Greek and Ethiopic scripts.
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e", "\u1367")
_BEHIND_A_QUESTION = "\"'\u201d\u2019\u00bb)]*_ "


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question of a session with the answer that counts.

    ``reasoning`` is what the model wrote before the answer, if that was received separately; reasoning that a server left in the
    answer between marks is taken out of it. ``details`` are those of a model's turn in files of interviews; see `ReadTurn`.
    """

    text: str
    kind: str
    answer: str
    reasoning: str = ""
    intent: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Talk:
    """A session that has ended, as one thread. ``facts`` are keys of the line besides id and turns, such as model and surface;
    empty values are left out. For a branch, ``hangs_on`` is the id of the other thread with the position of the turn in it."""

    external_id: str
    questions: Sequence[AnsweredQuestion]
    system: str = ""
    kind: str = "interview"
    hangs_on: tuple[str, int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def write_line(talk: Talk) -> str:
    """The line of a session in a file of interviews, with its line end."""
    content: dict[str, Any] = {
        "id": talk.external_id,
        **{key: value for key, value in talk.facts.items() if value not in (None, "", {}, [])},
        "kind": talk.kind,
    }
    if talk.hangs_on is not None:
        thread, turn = talk.hangs_on
        content |= {"relation": "branch", "hangs_on": {"id": thread, "turn": turn}}
    content["turns"] = list(_list_turns(talk))
    return json.dumps(content, ensure_ascii=False) + "\n"


def write_known_line(external_id: str, turns: Sequence[PlainTurn]) -> str:
    """The line of a thread that the study already has, with its current turns. A branch must be in the same file as its thread; the
    import skips this line."""
    listed = [
        {"role": role, "channel": channel, "text": text, **({"prompt_kind": kind} if kind else {})}
        for role, channel, kind, text in turns
    ]
    return json.dumps({"id": external_id, "turns": listed}, ensure_ascii=False) + "\n"


def place_questions(talk: Talk) -> list[int]:
    """The position in the thread, from 1, of each question's turn."""
    return [at for at, turn in enumerate(_list_turns(talk), 1) if turn["role"] == "interviewer"]


def place_answers(talk: Talk) -> list[int]:
    """The position in the thread, from 1, of the last turn of each answer."""
    ends = [place - 1 for place in place_questions(talk)[1:]]
    return [*ends, sum(1 for _ in _list_turns(talk))]


def _list_turns(talk: Talk) -> Iterator[dict[str, Any]]:
    if talk.system:
        yield {"role": "system", "text": talk.system}
    for each in talk.questions:
        yield {"role": "interviewer", "text": each.text, "prompt_kind": each.kind}
        details = {"details": dict(each.details)} if each.details else {}
        if each.reasoning:
            yield {"role": "model", "channel": "reasoning", "text": each.reasoning}
        pieces = [(is_thought, text) for is_thought, text in split_thinking(each.answer) if text]
        for is_thought, text in pieces:
            if is_thought:
                yield {"role": "model", "channel": "reasoning", "text": text}
            else:
                yield {"role": "model", "text": text, **details}
        if all(is_thought for is_thought, _ in pieces):
            # An empty answer is a turn too, so that readers see that the model said nothing.
            yield {"role": "model", "text": "", **details}


def name_answer(words: str, finish_reason: str) -> str:
    """The state of an answer, one of those above. ``words`` is the answer without reasoning.

    A refusal in the model's words is an answer; only what the provider calls a refusal gets this state.
    """
    reason = finish_reason.casefold()
    if reason in _FILTERED:
        return REFUSED
    if not words.strip():
        return EMPTY
    return TRUNCATED if reason in _CUT_OFF else ANSWERED


def asks_back(answer: str) -> bool:
    """Whether the last paragraph of an answer ends with a question mark of any script, so that the model waits for a reply."""
    paragraphs = [part.strip() for part in answer.replace("\r\n", "\n").split("\n\n") if part.strip()]
    return bool(paragraphs) and paragraphs[-1].rstrip(_BEHIND_A_QUESTION).endswith(_QUESTION_MARKS)
