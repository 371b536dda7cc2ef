"""What one person did in a study, newest first. Nobody else sees the list.

It leaves out the rows that were migrated when sentence boundaries were edited or codes merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast

from transcripts.accounts.models import User
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence
from transcripts.projects.models import Project

ENTRIES_PER_PAGE = 100
Rows = QuerySet[Any, Any]
WORDS = {
    "applied": "applied",
    "changed": "changed",
    "removed": "removed",
    "none": "none applies",
    "decided": "nothing more here",
    "reopened": "decision taken back",
    "memo": "memo written",
    "emptied": "memo removed",
    "split": "sentence split",
    "merge": "sentences merged",
}


def list_history(project: Project, user: User, *, page: int = 1) -> tuple[list[dict[str, Any]], bool]:
    """A page of what ``user`` did in the study, and whether there are older entries: three queries.

    ``label`` is the sentence's number, empty for an interview as a whole.
    """
    first = (page - 1) * ENTRIES_PER_PAGE
    kinds = [
        *_codings(project, user),
        *_decisions(project, user),
        *_memos(project, user),
        *_boundary_edits(project, user),
    ]
    every = kinds[0].union(*kinds[1:], all=True).order_by("-act_at")
    found: list[tuple[Any, ...]] = list(every[first : first + ENTRIES_PER_PAGE + 1])
    shown = found[:ENTRIES_PER_PAGE]
    sentences = Sentence.objects.in_bulk({row[4] for row in shown if row[4]})
    titles = dict(Interview.objects.filter(pk__in={row[5] for row in shown}).values_list("pk", "title"))
    entries = [
        {
            "at": at,
            "what": what,
            "words": WORDS[what],
            "code": code,
            "level": level,
            "interview_id": interview_id,
            "interview": titles[interview_id],
            "sentence_id": sentence_id,
            "label": sentences[sentence_id].label if sentence_id else "",
            "is_current": sentence_id is None or sentences[sentence_id].retired_by_id is None,
        }
        for what, at, code, level, sentence_id, interview_id in shown
    ]
    return entries, len(found) > ENTRIES_PER_PAGE


def _codings(project: Project, user: User) -> Iterator[Rows]:
    own = Coding.objects.filter(sentence__turn__interview__project=project, coder=user)
    made = own.filter(migrated_from__isnull=True)
    of_code = {"code": "code__name", "level": "level"}
    yield _select_columns(made.filter(supersedes__isnull=True), "applied", "created_at", **of_code)
    yield _select_columns(made.filter(supersedes__isnull=False), "changed", "created_at", **of_code)
    ended = own.filter(withdrawn_at__isnull=False, superseded_by__isnull=True, migrated_to__isnull=True)
    yield _select_columns(ended.filter(_ENDED_BY_HER), "removed", "withdrawn_at", **of_code)


def _decisions(project: Project, user: User) -> Iterator[Rows]:
    own = Decision.objects.filter(sentence__turn__interview__project=project, coder=user)
    made = own.filter(_MADE_BY_HER)
    yield _select_columns(made.filter(none_applies=True), "none", "created_at")
    yield _select_columns(made.filter(none_applies=False), "decided", "created_at")
    yield _select_columns(own.filter(_ENDED_BY_HER, withdrawn_at__isnull=False), "reopened", "withdrawn_at")


def _memos(project: Project, user: User) -> Iterator[Rows]:
    own = Memo.objects.filter(project=project, author=user, interview__project=project).filter(_MADE_BY_HER)
    yield _select_columns(own.exclude(text=""), "memo", "created_at", interview="interview")
    yield _select_columns(own.filter(text=""), "emptied", "created_at", interview="interview")


def _boundary_edits(project: Project, user: User) -> Iterator[Rows]:
    own = BoundaryEdit.objects.filter(turn__interview__project=project, edited_by=user)
    made = Sentence.objects.filter(made_by=OuterRef("pk")).order_by("start").values("pk")[:1]
    for kind in BoundaryEdit.Kind.values:
        yield _select_columns(
            own.filter(kind=kind), kind, "edited_at", sentence=Subquery(made), interview="turn__interview"
        )


# A row on a sentence that a boundary edit made is the person's own only when it is newer than the edit, and a row that a
# boundary edit withdrew was not withdrawn by the person.
_MADE_BY_HER = Q(sentence__made_by__isnull=True) | Q(created_at__gte=F("sentence__made_by__edited_at"))
_ENDED_BY_HER = Q(sentence__retired_by__isnull=True) | Q(withdrawn_at__lt=F("sentence__retired_by__edited_at"))


def _select_columns(
    rows: QuerySet[Any],
    what: str,
    at: str,
    *,
    code: str = "",
    level: str = "",
    sentence: str | Subquery = "sentence",
    interview: str = "sentence__turn__interview",
) -> Rows:
    """The same columns of every kind of row, so that all can be sorted together."""
    nothing = Value("")
    selected: Rows = (
        rows.order_by()
        .annotate(
            act=Value(what, output_field=TextField()),
            act_at=F(at),
            act_code=Cast(F(code) if code else nothing, TextField()),
            act_level=Cast(F(level) if level else nothing, TextField()),
            act_sentence=F(sentence) if isinstance(sentence, str) else sentence,
            act_interview=F(interview),
        )
        .values_list("act", "act_at", "act_code", "act_level", "act_sentence", "act_interview")
    )
    return selected
