"""What the pages of this room show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.pure.lineage import Fate
from transcripts.codebook.pure.words import Piece, compare_words
from transcripts.coding.closure import Closure
from transcripts.coding.models import Coding
from transcripts.coding.queries import read_standing
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.queries import read_questions
from transcripts.projects.models import Project
from transcripts.revision import queries
from transcripts.revision.pure.drift import Point, Reading, measure_drift
from transcripts.revision.pure.drift_chart import Chart, lay_out_rates
from transcripts.revision.queries import Touched, Waiting

TEXTS = {"definition": "Definition", "include": "Include", "exclude": "Exclude"}
NONE = Touched(0, 0, 0)


class Context(NamedTuple):
    """A sentence inside its turn, after the question that preceded it."""

    question: str
    before: str
    text: str
    after: str


def find_context(sentence: Sentence) -> Context:
    """Reads sentence.turn. Two queries for the question."""
    turn = sentence.turn
    return Context(
        read_questions([turn]).get(turn.pk, ""),
        turn.text[: sentence.start],
        turn.text[sentence.start : sentence.end],
        turn.text[sentence.end :],
    )


class Difference(NamedTuple):
    """One text of a code, then and now."""

    label: str
    pieces: tuple[Piece, ...]


class Look(NamedTuple):
    """One coding that waits for a second look, with everything it is judged by.

    ``leaves_none`` says that it is the last code on a decided sentence: without it none applies there.
    """

    coding: Coding
    context: Context
    fate: Fate
    targets: list[Code]
    differences: list[Difference]
    changes: list[CodeChange]
    quote: str
    closure: Closure
    leaves_none: bool

    @property
    def can_be_kept(self) -> bool:
        """The code is still there, with another meaning."""
        return self.fate.kind == "kept"


def build_look(coding: Coding, version: CodebookVersion) -> Look:
    """Seven queries."""
    fate = queries.find_fate(coding, version)
    current = queries.find_codes(version, [coding.code.identifier])
    changes = queries.list_meaning_changes(version.project, after=coding.code.version.number, until=version.number)
    own = {coding.code.identifier, *fate.identifiers}
    split_off = {change.to_identifier for change in changes if change.from_identifier in own}
    others = {*fate.identifiers, *split_off} - {coding.code.identifier, ""}
    turn = coding.sentence.turn
    standing = read_standing(coding.sentence_id, coding.coder_id)
    quote = turn.text[coding.quote_start : coding.quote_end] if coding.quote_start is not None else ""
    return Look(
        coding,
        find_context(coding.sentence),
        fate,
        queries.find_codes(version, others),
        _compare(coding.code, current[0]) if current else [],
        [change for change in changes if {change.from_identifier, change.to_identifier} & own],
        quote,
        standing.closure,
        standing.is_last_word(coding.pk),
    )


def _compare(then: Code, now: Code) -> list[Difference]:
    pairs = [(label, getattr(then, name), getattr(now, name)) for name, label in TEXTS.items()]
    return [Difference(label, compare_words(old, new)) for label, old, new in pairs if old != new]


class Pile(NamedTuple):
    """The codings with one code that wait for a second look."""

    identifier: str
    name: str
    waiting: int
    is_gone: bool


def pile_up(waiting: Iterable[Waiting]) -> list[Pile]:
    """How many wait, code by code, in the order of the queue."""
    piles: dict[str, Pile] = {}
    for each in waiting:
        pile = piles.get(each.identifier) or Pile(each.identifier, each.name, 0, each.current_code_id is None)
        piles[each.identifier] = pile._replace(waiting=pile.waiting + 1)
    return list(piles.values())


class Closed(NamedTuple):
    """An interview in which codings wait that their coder cannot look at again now."""

    interview: Interview
    closure: Closure
    waiting: int


def list_closed(project: Project, waiting: Iterable[Waiting]) -> list[Closed]:
    """The interviews in which a person may not code now, with what waits there, by their reason. One query."""
    counts = Counter((each.interview_id, each.closure) for each in waiting if not each.is_open)
    interviews = project.interviews.in_bulk([interview_id for interview_id, _ in counts]) if counts else {}
    closed = [Closed(interviews[pk], closure, number) for (pk, closure), number in counts.items()]
    return sorted(closed, key=lambda each: (each.closure, each.interview.pk))


class Effect(NamedTuple):
    """One change of meaning, and what it touches: codings made before it, and those of them that still wait."""

    change: CodeChange
    name: str
    new_name: str
    made_before: Touched
    waiting: int
    is_to_carry: bool


class Effects(NamedTuple):
    """What the changes between two versions touch. Counts of codings are of those that stand now."""

    effects: list[Effect]
    codings: int
    older: int
    waiting: int
    closed: int
    to_carry: int

    @property
    def share_of_older(self) -> float | None:
        """Share of standing codings that were made under an earlier version than the later of the two."""
        return self.older / self.codings if self.codings else None


def build_effects(project: Project, older: int, version: CodebookVersion, *, coder: User | None) -> Effects:
    """Seven queries. ``coder`` restricts the counts to one person's codings."""
    standing = queries.count_standing(project, coder=coder)
    waiting = queries.list_waiting(version, coder=coder)
    waits = {pile.identifier: pile.waiting for pile in pile_up(waiting)}
    changes = list(queries.list_meaning_changes(project, after=older, until=version.number))
    names = _read_names(project, changes)
    merged = queries.list_merged(version)
    effects = [
        Effect(
            change,
            names.get(change.from_identifier, change.from_identifier),
            names.get(change.to_identifier, change.to_identifier),
            _sum_before(standing, change.from_identifier or change.to_identifier, change.version.number),
            waits.get(change.from_identifier or change.to_identifier, 0),
            change.from_identifier in merged,
        )
        for change in changes
    ]
    return Effects(
        effects,
        sum(touched.codings for touched in standing.values()),
        sum(touched.codings for (_, number), touched in standing.items() if number < version.number),
        len(waiting),
        sum(not each.is_open for each in waiting),
        sum(waits.get(identifier, 0) for identifier in merged),
    )


def _read_names(project: Project, changes: Sequence[CodeChange]) -> dict[str, str]:
    identifiers = {name for change in changes for name in (change.from_identifier, change.to_identifier)}
    codes = Code.objects.filter(version__project=project, identifier__in=identifiers).order_by("version__number")
    return dict(codes.values_list("identifier", "name"))


def _sum_before(standing: dict[tuple[str, int], Touched], identifier: str, number: int) -> Touched:
    """Sentences coded by several people count once a person and version, as the table's head says."""
    found = [touched for (each, made), touched in standing.items() if each == identifier and made < number]
    return Touched(*map(sum, zip(*found, strict=True))) if found else NONE


class DriftRow(NamedTuple):
    """One code over the versions under which anchors were read."""

    code: Code
    points: list[Point]
    chart: Chart


def build_drift(project: Project, version: CodebookVersion, *, coder: User | None) -> list[DriftRow]:
    """The codes of sentences of ``version`` that anybody put on an anchor, in its order. Two queries."""
    readings = [
        Reading(reading.version.number, reading.sentence_id, reading.coder_id, frozenset(reading.codes))
        for reading in queries.list_readings(project, coder=coder)
    ]
    used = frozenset[str]().union(*(reading.codes for reading in readings))
    codes = queries.find_codes(version, used)
    drift = measure_drift(readings, [code.identifier for code in codes])
    return [DriftRow(code, points, lay_out_rates(points)) for code in codes for points in [drift[code.identifier]]]
