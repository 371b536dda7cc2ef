"""What one person did in a study, newest first. Nobody else sees the list.

Each room that keeps work of people at the desk registers its part, so that one statement sorts and pages the acts of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, QuerySet, TextField, Value

from transcripts.accounts.models import User
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project
from transcripts.projects.registrations import load_registrations

ENTRIES_PER_PAGE = 100
Rows = QuerySet[Any, Any]


@dataclass(frozen=True)
class Act:
    """What somebody did to one row, and where that is read.

    ``about`` names a code or a criterion and ``details`` what was said of it. ``rests_on``: the sentences that a link or a score
    names, with their turns. It took place in ``sentence``, else in the turn at the position ``turn``, else on the page of the
    interview whose address is named ``address``, which a page calls ``page``.
    """

    interview: Interview
    about: str = ""
    details: str = ""
    rests_on: Sequence[Sentence] = ()
    sentence: Sentence | None = None
    turn: int | None = None
    address: str = "coding:desk"
    page: str = ""


class HistoryPart(NamedTuple):
    """Acts of some kinds. ``words``: the kinds, as pages call them.

    ``list_rows`` gives the acts of a person in a study, kind by kind, as ``select_acts`` selects them. ``describe`` gives what is
    shown of rows, by their ids; it takes one or two queries.
    """

    words: Mapping[str, str]
    list_rows: Callable[[Project, User], Iterator[Rows]]
    describe: Callable[[Collection[int]], Mapping[int, Act]]


class Entry(NamedTuple):
    """A line of the history."""

    at: datetime
    kind: str
    words: str
    act: Act


_parts: list[HistoryPart] = []


def register_history(*parts: HistoryPart) -> None:
    """Add kinds of acts to everybody's history. Called once, in an app's ``registrations``."""
    _parts.extend(parts)


def select_acts(rows: QuerySet[Any], kind: str, at: str) -> Rows:
    """The same columns of rows of every model: the kind of act, when it took place (the column ``at``), and the row's id."""
    selected: Rows = (
        rows.order_by()
        .annotate(act=Value(kind, output_field=TextField()), act_at=F(at), act_row=F("pk"))
        .values_list("act", "act_at", "act_row")
    )
    return selected


def list_history(project: Project, user: User, *, page: int = 1) -> tuple[list[Entry], bool]:
    """A page of what ``user`` did in the study, and whether there are older acts.

    One query, and one or two for each part that the page shows something of.
    """
    load_registrations()
    first = (page - 1) * ENTRIES_PER_PAGE
    selects = [rows for part in _parts for rows in part.list_rows(project, user)]
    every = selects[0].union(*selects[1:], all=True).order_by("-act_at", "-act_row", "act")
    found: list[tuple[str, datetime, int]] = list(every[first : first + ENTRIES_PER_PAGE + 1])
    shown = found[:ENTRIES_PER_PAGE]
    acts: dict[tuple[str, int], Act] = {}
    for part in _parts:
        own = [(kind, row) for kind, _, row in shown if kind in part.words]
        if own:
            described = part.describe({row for _, row in own})
            acts |= {(kind, row): described[row] for kind, row in own}
    words = {kind: said for part in _parts for kind, said in part.words.items()}
    return [Entry(at, kind, words[kind], acts[kind, row]) for kind, at, row in shown], len(found) > len(shown)
