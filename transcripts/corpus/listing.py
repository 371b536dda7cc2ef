"""The list of interviews: what it shows of the work on them, and what is searched, kept and sorted.

How far the work is, is known by rooms above this one; ``register_work_reader`` lets one of them say it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.corpus import queries
from transcripts.corpus.models import RUN_FACTS, Interview, Kind
from transcripts.formats.numbers import round_percent
from transcripts.studies.models import Project
from transcripts.studies.registrations import load_registrations

SORTS = {
    "": "the order of import",
    "title": "title",
    "model": "model",
    "period": "date",
    "sentences": "sentences, most first",
    "progress": "progress, least first",
    "activity": "last activity, latest first",
}
STAGES = {"none": "Nobody has begun", "begun": "Begun", "complete": "Somebody is through"}


class Person(NamedTuple):
    """A person who has begun an interview or is to code it."""

    name: str
    decided: int
    total: int
    is_assigned: bool
    is_signed: bool

    @property
    def percent(self) -> int:
        """Whole per cent; 100 means all."""
        return round_percent(self.decided, self.total, of_nothing=100)


class Work(NamedTuple):
    """What is known of the work on an interview."""

    people: Sequence[Person] = ()
    last: datetime.datetime | None = None

    @property
    def percent(self) -> int:
        """That of the person who is furthest."""
        return max((person.percent for person in self.people), default=0)

    @property
    def stage(self) -> str:
        if not any(person.decided for person in self.people):
            return "none"
        return "complete" if self.percent == 100 else "begun"


WorkReader = Callable[[Collection[int], User | None], Mapping[int, Work]]
"""Tells the work on interviews by number: of everybody, or of one person."""
_readers: list[WorkReader] = []
NOTHING = Work()


class Wanted(NamedTuple):
    """What the person has asked for; see ``SORTS`` and ``STAGES``. ``run`` is a fact of a run, as ``task=files``."""

    q: str = ""
    model: str = ""
    coder: str = ""
    stage: str = ""
    kind: str = ""
    run: str = ""
    sort: str = ""

    @property
    def needs_work(self) -> bool:
        """Whether the work on every interview has to be known to tell which are shown first."""
        return bool(self.coder or self.stage or self.sort in {"progress", "activity"})


def register_work_reader(reader: WorkReader) -> None:
    """Let the list show the work on interviews. Called once, in a room's ``registrations``."""
    _readers[:] = [reader]


def read_wanted(asked: Mapping[str, str]) -> Wanted:
    """From a query string or a form; what is unknown does not narrow."""
    wanted = Wanted(**{name: asked.get(name, "").strip() for name in Wanted._fields})
    return wanted._replace(
        stage=wanted.stage if wanted.stage in STAGES else "",
        kind=wanted.kind if wanted.kind in Kind.values else "",
        run=wanted.run if is_fact(wanted.run) else "",
        sort=wanted.sort if wanted.sort in SORTS else "",
    )


def is_fact(text: str) -> bool:
    """Whether this is a fact of a run, as ``task=files``."""
    return "=" in text and text.split("=", maxsplit=1)[0] in RUN_FACTS


def read_fact(text: str) -> dict[str, str]:
    """A fact of a run as ``InterviewQuerySet.of_run`` takes it."""
    key, _, value = text.partition("=")
    return {key: value}


def list_matching(project: Project, wanted: Wanted, only: User | None) -> list[Interview]:
    """The interviews of the study that match, in the wanted order; with ``work`` where that was needed."""
    found = project.interviews.filter(kind=wanted.kind) if wanted.kind else project.interviews.all()
    rows = queries.list_interviews(found.of_run(read_fact(wanted.run)) if wanted.run else found)
    words = wanted.q.casefold().split()
    rows = [
        row
        for row in rows
        if (not wanted.model or row.model_label == wanted.model)
        and all(word in f"{row.title} {row.external_id}".casefold() for word in words)
    ]
    if wanted.needs_work:
        add_work(rows, only)
    return sorted(
        (row for row in rows if not wanted.needs_work or _is_wanted(row.work, wanted)),  # type: ignore[attr-defined]
        key=lambda row: _rank(row, wanted.sort),
    )


def add_work(rows: Sequence[Interview], only: User | None) -> None:
    """Give each of these interviews its ``work``."""
    load_registrations()
    found = _readers[0]([row.pk for row in rows], only) if _readers and rows else {}
    for row in rows:
        row.work = found.get(row.pk, NOTHING)  # type: ignore[attr-defined]


def _is_wanted(work: Work, wanted: Wanted) -> bool:
    is_hers = not wanted.coder or any(person.name == wanted.coder for person in work.people)
    return is_hers and (not wanted.stage or work.stage == wanted.stage)


def _rank(row: Interview, sort: str) -> tuple[object, ...]:
    if sort == "sentences":
        return (-row.sentence_count, row.pk)
    if sort == "progress":
        return (row.work.percent, row.pk)  # type: ignore[attr-defined]
    if sort == "activity":
        last = row.work.last  # type: ignore[attr-defined]
        return (-last.timestamp() if last else 0, row.pk)
    if sort in {"title", "model", "period"}:
        value = {"title": row.title, "model": row.model_label, "period": row.period}[sort]
        return (not value, value.casefold(), row.pk)
    return (row.pk,)
