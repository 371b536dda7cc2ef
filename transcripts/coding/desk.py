"""The desk's page: one interview, one person's work on it, and the codebook beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from django.db.models import Count, Max, Min, Q

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.marks import Chip, Marks, Viewer, read_marks_in
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.projects.models import Project

LONG_QUESTION = 240
SHORT_QUESTION = 60
FAMILY_FIELDS = [
    f"family__{name}" for name in ("identifier", "name", "unit", "carries_level", "carries_enactment", "position")
]


class Row(NamedTuple):
    """A sentence as a row of the desk. ``is_closed``: the viewer has said that nothing more is to be coded here.

    A tuple, for the template unpacks some thousand of these and a look-up by attribute costs it five times as much.
    """

    id: int
    number: int
    kind: str
    text: str
    is_closed: bool
    marks: Marks | None


@dataclass(slots=True)
class TurnBlock:
    """One turn: its sentences, or its text where nothing of it is coded (tool traffic)."""

    id: int
    role: str
    channel: str
    speaker: str
    prompt_kind: str
    text: str
    rows: list[Row]
    marks: Marks = field(default_factory=Marks)

    @property
    def is_answer(self) -> bool:
        """Said by the model: what a coder has to get through."""
        return self.role == Turn.Role.MODEL and self.channel == Turn.Channel.UTTERANCE

    @property
    def is_folded(self) -> bool:
        """Reasoning and tool traffic stay closed, so that they do not colour the reading of what was said."""
        return self.channel != Turn.Channel.UTTERANCE

    @property
    def heading(self) -> str:
        """Role, and channel where it is not plain speech."""
        role = Turn.Role(self.role).label
        return (
            role if self.channel == Turn.Channel.UTTERANCE else f"{role} · {Turn.Channel(self.channel).label.lower()}"
        )


@dataclass(slots=True)
class Exchange:
    """A question and what answers it; ``decided`` of ``total`` counts the model's sentences."""

    number: int
    question: list[TurnBlock] = field(default_factory=list)
    answers: list[TurnBlock] = field(default_factory=list)
    decided: int = 0
    total: int = 0

    @property
    def is_long(self) -> bool:
        return sum(len(turn.text) for turn in self.question) > LONG_QUESTION

    @property
    def may_scroll(self) -> bool:
        """Whether the question may not fit its place in a narrow window, so that the keyboard must reach it."""
        return sum(len(turn.text) for turn in self.question) > SHORT_QUESTION

    @property
    def turns(self) -> list[TurnBlock]:
        return [*self.question, *self.answers]

    def __contains__(self, row: Row | None) -> bool:
        return any(row is other for turn in self.turns for other in turn.rows)


@dataclass(slots=True)
class PanelCode:
    """A code as a button; ``chip`` is the viewer's own coding with it at the current sentence."""

    id: int
    identifier: str
    name: str
    key: str
    aliases: list[str]
    definition: str
    count: int
    chip: Chip | None


@dataclass(slots=True)
class PanelFamily:
    """A family of codes as a part of the panel."""

    identifier: str
    name: str
    is_of_turns: bool
    carries_level: bool
    carries_enactment: bool
    codes: list[PanelCode]

    @property
    def has_keys(self) -> bool:
        return any(code.key for code in self.codes)

    @property
    def is_folded(self) -> bool:
        """Families of turns, and those reached by name only, can be closed."""
        return self.is_of_turns or not self.has_keys


@dataclass(slots=True)
class Place:
    """The interview's place among those of the study."""

    number: int
    total: int
    previous_id: int | None
    next_id: int | None


@dataclass(slots=True)
class DeskPage:
    """Everything one request of the desk shows."""

    interview: Interview
    place: Place
    version: CodebookVersion | None
    families: list[PanelFamily]
    exchanges: list[Exchange]
    current: Row | None
    current_exchange: Exchange | None
    sentences: int
    decided: int
    total: int
    first_undecided: Row | None
    marks: Marks

    @property
    def percent(self) -> int:
        """Whole per cent of the model's sentences that the viewer has decided, rounded down so that 100 means all."""
        return self.decided * 100 // self.total if self.total else 0

    @property
    def codes(self) -> list[dict[str, object]]:
        """The codes as the page's script needs them."""
        return [
            {
                "id": code.id,
                "identifier": code.identifier,
                "name": code.name,
                "key": code.key,
                "aliases": code.aliases,
                "definition": code.definition,
                "family": family.identifier,
                "familyName": family.name,
                "ofTurn": family.is_of_turns,
                "level": family.carries_level,
                "enactment": family.carries_enactment,
            }
            for family in self.families
            for code in family.codes
        ]


def build_page(project: Project, interview: Interview, viewer: Viewer, *, at: int | None) -> DeskPage:
    """Six queries, whatever the length of the interview. ``at`` is the current sentence, if it is one of these."""
    marks = read_marks_in(interview.pk, viewer)
    exchanges = list(_group_turns(_read_turns(interview, marks)))
    turns = [turn for exchange in exchanges for turn in exchange.turns]
    rows = {row.id: row for turn in turns for row in turn.rows}
    undecided = [row for exchange in exchanges for row in _count_decided(exchange)]
    current = rows.get(at or 0) or next(iter(undecided or rows.values()), None)
    version = current_version(project)
    return DeskPage(
        interview=interview,
        place=_find_place(project, interview),
        version=version,
        families=_read_families(version, used=_count_own_codes(turns), at_current=_find_own_codes(turns, current)),
        exchanges=exchanges,
        current=current,
        current_exchange=next((exchange for exchange in exchanges if current in exchange), None),
        sentences=len(rows),
        decided=sum(exchange.decided for exchange in exchanges),
        total=sum(exchange.total for exchange in exchanges),
        first_undecided=undecided[0] if undecided else None,
        marks=marks.get(None) or Marks(),
    )


def _read_turns(interview: Interview, marks: dict[int | None, Marks]) -> Iterator[TurnBlock]:
    """The turns in order, each with its sentences and what stands on them."""
    sentences = Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True).order_by(
        "position", "start"
    )
    rows: dict[int, list[Row]] = {}
    spans = sentences.values_list("turn_id", "pk", "position", "kind", "start", "end")
    found = Turn.objects.filter(interview=interview).order_by("position")
    turns = [
        TurnBlock(*values, rows=rows.setdefault(values[0], []))
        for values in found.values_list("pk", "role", "channel", "speaker", "prompt_kind", "text")
    ]
    text_of = {turn.id: turn.text for turn in turns}
    for turn_id, pk, position, kind, start, end in spans:
        found_here = marks.get(pk)
        is_closed = found_here is not None and found_here.own_decision is not None
        rows[turn_id].append(Row(pk, position, kind, text_of[turn_id][start:end], is_closed, found_here))
    for turn in turns:
        if turn.rows and (first := turn.rows[0].marks):
            turn.marks = first.split_off_turn()
        yield turn


def _group_turns(turns: Iterator[TurnBlock]) -> Iterator[Exchange]:
    """A new exchange begins where an interviewer speaks after somebody else has."""
    groups = groupby(turns, key=lambda turn: turn.role == Turn.Role.INTERVIEWER)
    exchange = Exchange(1)
    for is_question, group in groups:
        if is_question:
            if exchange.answers:
                yield exchange
                exchange = Exchange(exchange.number + 1)
            exchange.question = list(group)
        else:
            exchange.answers = list(group)
    if exchange.turns:
        yield exchange


def _count_decided(exchange: Exchange) -> list[Row]:
    """Fill in the counts of an exchange and return what of it is undecided."""
    rows = [row for turn in exchange.answers if turn.is_answer for row in turn.rows]
    undecided = [row for row in rows if not (row.marks and row.marks.counts_as_decided)]
    exchange.total, exchange.decided = len(rows), len(rows) - len(undecided)
    return undecided


def _count_own_codes(turns: list[TurnBlock]) -> Counter[str]:
    """How often the viewer has put each code in this interview."""
    everywhere = [marks for turn in turns for marks in (turn.marks, *(row.marks for row in turn.rows)) if marks]
    return Counter(chip.identifier for marks in everywhere for chip in marks.chips if not chip.coder)


def _find_own_codes(turns: list[TurnBlock], current: Row | None) -> dict[str, Chip]:
    """The viewer's codings that hold at the current sentence: its own and its turn's."""
    turn = next((turn for turn in turns if any(row is current for row in turn.rows)), None)
    if turn is None or current is None:
        return {}
    chips = [*turn.marks.chips, *(current.marks.chips if current.marks else [])]
    return {chip.identifier: chip for chip in chips if not chip.coder}


def _find_place(project: Project, interview: Interview) -> Place:
    before, after = Q(pk__lt=interview.pk), Q(pk__gt=interview.pk)
    found = project.interviews.aggregate(
        total=Count("pk"),
        number=Count("pk", filter=before),
        previous=Max("pk", filter=before),
        next=Min("pk", filter=after),
    )
    return Place(found["number"] + 1, found["total"], found["previous"], found["next"])


def _read_families(
    version: CodebookVersion | None, *, used: Counter[str], at_current: dict[str, Chip]
) -> list[PanelFamily]:
    if version is None:
        return []
    codes = Code.objects.filter(version=version).select_related("family").order_by("family__position", "position")
    fields = codes.only("identifier", "name", "key", "aliases", "definition", "family", *FAMILY_FIELDS)
    return [
        PanelFamily(
            identifier=family.identifier,
            name=family.name,
            is_of_turns=family.unit == CodeFamily.Unit.TURN,
            carries_level=family.carries_level,
            carries_enactment=family.carries_enactment,
            codes=[
                PanelCode(
                    id=code.pk,
                    identifier=code.identifier,
                    name=code.name,
                    key=code.key,
                    aliases=code.aliases,
                    definition=code.definition,
                    count=used[code.identifier],
                    chip=at_current.get(code.identifier),
                )
                for code in group
            ],
        )
        for family, group in groupby(fields, key=lambda code: code.family)
    ]
