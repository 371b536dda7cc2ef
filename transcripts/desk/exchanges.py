"""An interview as the desk shows it: rows in turns, in exchanges of a question and its answers; which are filtered; and values of
files in words, as people read them: times, truth values, lists and objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.formats import date_format

from transcripts.coding.next_sentence import Reason
from transcripts.corpus.models import Interview, Turn
from transcripts.desk.annotations import SentenceAnnotations
from transcripts.formats.interviews.chat_content import pair_results

LONG_QUESTION = 240
SHORT_QUESTION = 60
MANY_SENTENCES = 100
MANY_TURNS = 20
LONG_INSTRUCTION = 600
CODE = "code:"
LABELS: dict[str, str] = {
    Reason.UNCODED: "Uncoded",
    Reason.CHANGED: "Changed code",
    Reason.DISAGREED: "Coders disagree",
    Reason.MEMO: "With memo",
}
TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
NOTHING = "–"


class Row(NamedTuple):
    """A sentence as a row of the desk. ``is_decided``: it counts as decided by the viewer.
    ``start`` is its place in the text of its turn.

    It is a tuple, because the template unpacks thousands of these and a look-up by attribute takes five times as long.
    """

    id: int
    number: str
    kind: str
    text: str
    is_decided: bool
    marks: SentenceAnnotations | None
    start: int


@dataclass(slots=True)
class TurnBlock:
    """One turn: its sentences, or its text if it is not coded (the result of a tool).

    ``unit`` is the sentence of a tool's result, with its number: nobody codes it, but it can be evidence.

    ``is_answer``: a coder has to decide it. ``is_opened``: the viewer has opened this reasoning. ``closed`` counts the
    sentences of unopened reasoning, which are left out of ``rows`` and ``text``. ``results`` are the results of this call;
    ``threads`` are those that continue from this turn.
    """

    id: int
    position: int
    role: str
    channel: str
    speaker: str
    prompt_kind: str
    text: str
    is_answer: bool
    call_id: str
    details: dict[str, Any]
    is_opened: bool
    rows: list[Row]
    marks: SentenceAnnotations = field(default_factory=SentenceAnnotations)
    is_hidden: bool = False
    closed: int = 0
    results: list[TurnBlock] = field(default_factory=list)
    threads: list[Interview] = field(default_factory=list)
    unit: tuple[int, str] | None = None

    @property
    def own_codes(self) -> int:
        """How many codes the viewer has applied in it."""
        places = [self.marks, *(row.marks for row in self.rows if row.marks)]
        return sum(not chip.coder for marks in places for chip in marks.chips)

    @property
    def is_question(self) -> bool:
        """Whether the interviewer said it, so that it may have prompted what follows."""
        return self.role == Turn.Role.INTERVIEWER and self.channel == Turn.Channel.UTTERANCE

    @property
    def is_markdown(self) -> bool:
        """Whether it has words of a person or a model, whose Markdown is formatted, as opposed to tool traffic."""
        return self.channel in {Turn.Channel.UTTERANCE, Turn.Channel.REASONING} and self.role != Turn.Role.TOOL

    @property
    def prompt_words(self) -> str:
        """The kind of the prompt in words."""
        return self.prompt_kind.replace("_", " ")

    @property
    def has_many(self) -> bool:
        """Whether it is so long that the browser should lay out only its visible sentences."""
        return len(self.rows) > MANY_SENTENCES

    @property
    def is_call(self) -> bool:
        return self.channel == Turn.Channel.TOOL_CALL

    @property
    def is_reasoning(self) -> bool:
        return self.channel == Turn.Channel.REASONING

    @property
    def is_folded(self) -> bool:
        """Whether it is folded at first: reasoning, long instructions and uncoded tool traffic should not influence how the
        conversation is read."""
        if self.channel == Turn.Channel.UTTERANCE:
            return self.role == Turn.Role.SYSTEM and len(self.text) > LONG_INSTRUCTION
        return not self.is_answer

    @property
    def arguments(self) -> list[tuple[str, str]]:
        """The arguments of a call by name, formatted for reading; empty if they are not a JSON object."""
        if not self.is_call:
            return []
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            return []
        if not isinstance(found, dict):
            return []
        return [(name, value if isinstance(value, str) else _lay_out(value)) for name, value in found.items()]

    @property
    def at(self) -> str:
        """The time when it was said, to the second, in the time zone of the file; "" if there is none."""
        given = self.details.get("at")
        return write_time(given) if isinstance(given, str) else ""

    @property
    def facts(self) -> list[str]:
        """Facts from the file about how it was generated: the model and the tokens."""
        model = self.details.get("model")
        return [*([model] if isinstance(model, str) else []), *_count_tokens(self.details.get("tokens"))]

    @property
    def has_error(self) -> bool:
        return bool(self.details.get("error"))

    @property
    def tags(self) -> list[str]:
        """Notes that a reader should know before she reads on."""
        tags = {
            "redacted": "redacted by the provider",
            "is_summary": "a summary",
            "prefilled": "put into the model’s mouth",
        }
        told = [words for key, words in tags.items() if self.details.get(key)]
        cut = self.details.get("truncated")
        if isinstance(cut, dict) and isinstance(cut.get("bytes"), int):
            told.append(f"the beginning of {cut['bytes']:,} bytes")
        error, kind = self.details.get("error"), self.details.get("error_type")
        if error:
            name = f"error ({kind})" if isinstance(kind, str) else "error"
            told.append(f"{name}: {error[:LONG_QUESTION]}" if isinstance(error, str) else name)
        return told

    @property
    def name(self) -> str:
        """The speaker's name, if it says more than the role."""
        names_role = self.speaker.strip().casefold() in {self.role, Turn.Role(self.role).label.casefold()}
        return "" if names_role else self.speaker

    @property
    def heading(self) -> str:
        """The role, and the channel if it is not speech."""
        role = Turn.Role(self.role).label
        return (
            role if self.channel == Turn.Channel.UTTERANCE else f"{role} · {Turn.Channel(self.channel).label.lower()}"
        )


@dataclass(slots=True)
class Exchange:
    """A question and its answers; ``decided`` of ``total`` counts the model's sentences."""

    question: list[TurnBlock] = field(default_factory=list)
    answers: list[TurnBlock] = field(default_factory=list)
    decided: int = 0
    total: int = 0
    is_hidden: bool = False

    @property
    def first(self) -> int:
        """The position of its first turn, by which it is known on the page; as on all pages and in exports."""
        return self.turns[0].position

    @property
    def title(self) -> str:
        """Its turns, in words."""
        last = max((result for turn in self.turns for result in (turn, *turn.results)), key=lambda turn: turn.position)
        return f"Turn {self.first}" if last.position == self.first else f"Turns {self.first} to {last.position}"

    @property
    def has_many(self) -> bool:
        """Whether it is so long that the browser should lay out only its visible turns."""
        return len(self.answers) > MANY_TURNS

    @property
    def is_long(self) -> bool:
        return sum(len(turn.text) for turn in self.question) > LONG_QUESTION

    @property
    def may_scroll(self) -> bool:
        """Whether the question may need to scroll in a narrow window, so that the keyboard must reach it."""
        return sum(len(turn.text) for turn in self.question) > SHORT_QUESTION

    @property
    def kinds(self) -> str:
        """The kinds of the question."""
        return " · ".join(dict.fromkeys(turn.prompt_words for turn in self.question if turn.prompt_kind))

    @property
    def steps(self) -> list[TurnBlock]:
        """The steps to its answers: the model's reasoning, if known, and its tool calls."""
        return [turn for turn in self.answers if turn.is_call or (turn.is_reasoning and (turn.rows or turn.closed))]

    @property
    def turns(self) -> list[TurnBlock]:
        return [*self.question, *self.answers]

    def __contains__(self, row: Row | None) -> bool:
        return any(row is other for turn in self.turns for other in turn.rows)


def pair_calls(turns: list[TurnBlock]) -> list[TurnBlock]:
    """The turns without results of calls, each of which is added to its call's ``results``."""
    alone: list[TurnBlock] = []
    for turn, call in zip(turns, pair_results(turns), strict=True):
        if call is None:
            alone.append(turn)
        else:
            turns[call - 1].results.append(turn)
    return alone


def _lay_out(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, (dict, list)) else None)


def _count_tokens(tokens: Any) -> Iterator[str]:
    if isinstance(tokens, dict):
        for side, word in (("input", "in"), ("output", "out")):
            if isinstance(tokens.get(side), int):
                yield f"{tokens[side]:,} tokens {word}"


@dataclass(slots=True)
class Shown:
    """The shown part of an interview. ``rows``: the matching rows, ``None`` without a filter.

    ``total``: the number of all rows; ``found`` is 0 if nothing matches, and then everything is shown.
    """

    value: str = ""
    label: str = ""
    rows: frozenset[int] | None = None
    found: int = 0
    total: int = 0

    @property
    def words(self) -> str:
        if not self.value:
            return ""
        if not self.found:
            return f"{self.label}: none of {self.total} sentences, so all are shown"
        return f"{self.label}: {self.found} of {self.total} sentence{'' if self.total == 1 else 's'}"


def list_choices(*, codes_herself: bool, may_see_differences: bool) -> list[tuple[str, str]]:
    """The available filters, except those by code: the value in the address, and the label."""
    offers: dict[str, bool] = {Reason.UNCODED: codes_herself, Reason.DISAGREED: may_see_differences}
    return [("", "All"), *((str(reason), label) for reason, label in LABELS.items() if offers.get(reason, True))]


def apply_filter(
    exchanges: Iterable[Exchange], value: str, *, names: dict[str, str], differing: Collection[int] | None
) -> Shown:
    """Select the rows that match ``value``, and mark the hidden ones; an unknown value does not filter. The question of each
    shown answer is shown too, and if nothing matches, everything is shown.

    ``names`` are the codes by identifier; ``differing`` the sentences with disagreements, ``None`` if the viewer may not see them.
    """
    exchanges = list(exchanges)
    fits = _find_rule(value, names, differing)
    label = LABELS.get(value) or names.get(value.removeprefix(CODE), "")
    if fits is None or not label:
        return Shown()
    turns = [turn for exchange in exchanges for turn in exchange.turns]
    counted = [turn for turn in turns if turn.is_answer] if value == Reason.UNCODED else turns
    total = sum(len(turn.rows) for turn in counted)
    rows = frozenset(row.id for turn in counted for row in turn.rows if fits(turn, row))
    if not rows:
        return Shown(value, label, None, 0, total)
    for exchange in exchanges:
        exchange.is_hidden = not _holds(exchange.turns, rows)
        for turn in exchange.answers:
            turn.is_hidden = not _holds([turn], rows)
    return Shown(value, label, rows, len(rows), total)


def _holds(turns: Iterable[TurnBlock], rows: Collection[int]) -> bool:
    return any(row.id in rows for turn in turns for row in turn.rows)


Rule = Callable[[TurnBlock, Row], bool]


def _find_rule(value: str, names: dict[str, str], differing: Collection[int] | None) -> Rule | None:
    if value.startswith(CODE) and value.removeprefix(CODE) in names:
        return lambda turn, row: _bears(turn, row, value.removeprefix(CODE))
    rules: dict[str, Rule] = {
        Reason.UNCODED: lambda _, row: not (row.marks and row.marks.counts_as_decided),
        Reason.CHANGED: lambda _, row: any(chip.is_changed for chip in row.marks.chips) if row.marks else False,
        Reason.MEMO: lambda _, row: bool(row.marks and row.marks.memos),
    }
    if differing is not None:
        rules[Reason.DISAGREED] = lambda _, row: row.id in differing
    return rules.get(value)


def _bears(turn: TurnBlock, row: Row, identifier: str) -> bool:
    """Whether a code is applied to the sentence, or to its turn if it is the first of it."""
    chips = [*(row.marks.chips if row.marks else ()), *(turn.marks.chips if row is turn.rows[0] else ())]
    return any(chip.identifier == identifier for chip in chips)


def write_time(text: str) -> str:
    """An ISO 8601 time to the second in the zone that it names, as "1 Mar 2026, 10:00:05 UTC"; "" for any other text."""
    if not TIME.match(text):
        return ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    offset = at.strftime("%z")
    zone = "" if not offset else " UTC" if offset == "+0000" else f" UTC{offset[:3]}:{offset[3:5]}"
    return f"{date_format(at, 'j M Y, H:i:s')}{zone}"


def write_value(value: Any) -> str:
    """A value of a file's JSON in words: "reward: 1, passed: yes". Texts that hold an object or a list are read first."""
    if isinstance(value, str):
        return write_time(value) or _write_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ({}, []):
        return NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_hold_together(each)}" for key, each in value.items())
    if isinstance(value, Sequence):
        return ", ".join(_hold_together(each) for each in value)
    return str(value)


def _write_text(text: str) -> str:
    if text[:1] not in {"{", "["}:
        return text
    try:
        return write_value(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _hold_together(value: Any) -> str:
    """An object or list inside another, in brackets, so that its end is visible."""
    words = write_value(value)
    return f"({words})" if isinstance(value, (Mapping, list)) and value else words
