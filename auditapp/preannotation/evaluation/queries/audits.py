"""Reads of audits of positives: the sample, what readers marked, and who looked at results before she was through."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db.models import Count, QuerySet

from auditapp.preannotation.evaluation.pure.auditing import Item, Mark
from auditapp.preannotation.models import AuditedSuggestion, PositiveAudit, PositiveMark
from transcripts.accounts.models import User
from transcripts.projects.models import Project


class Marks(NamedTuple):
    """The marks that stand, and the first ones made before their reader knew the machine's reason or any results.

    ``second_thoughts`` and ``late`` count the others: corrections, and first marks made with results known.
    """

    standing: list[Mark]
    first: list[Mark]
    second_thoughts: int
    late: int


def list_audits(project: Project, reader: User) -> list[dict[str, object]]:
    """The audits of a study, newest first, with the size of each and how much of it one has marked."""
    audits = PositiveAudit.objects.filter(annotator__project=project).select_related("annotator__variant__account")
    sizes = audits.annotate(size=Count("items")).order_by("-pk")
    own = count_own(audits, reader)
    return [{"audit": audit, "size": audit.size, "own": own.get(audit.pk, 0)} for audit in sizes]


def count_own(audits: QuerySet[PositiveAudit] | Sequence[PositiveAudit], reader: User) -> dict[int, int]:
    """How many items of each audit she has marked."""
    rows = PositiveMark.objects.filter(item__audit__in=audits, reader=reader, superseded_by__isnull=True)
    return dict(rows.values_list("item__audit").annotate(n=Count("pk")).order_by("item__audit"))


def list_items(audit: PositiveAudit) -> list[Item]:
    """The sample as arithmetic takes it, code by code in the order of the codebook."""
    rows = audit.items.order_by("suggestion__code__family__position", "suggestion__code__position", "place")
    return [Item(*row) for row in rows.values_list("pk", "suggestion__code__identifier")]


def read_populations(audit: PositiveAudit) -> dict[str, int]:
    """By code, how many suggestions there were to draw from."""
    return dict(audit.items.values_list("suggestion__code__identifier", "population").order_by("pk"))


def find_results_opened(audit: PositiveAudit) -> dict[int, datetime.datetime]:
    """By the number of a person: when she first had the results shown before she had marked everything."""
    return dict(audit.results_openings.values_list("reader_id", "opened_at"))


def list_marks(audit: PositiveAudit) -> Marks:
    """The marks of an audit."""
    opened = find_results_opened(audit)
    found = PositiveMark.objects.filter(item__audit=audit).order_by("pk")
    standing, first = [], []
    seen: set[tuple[int, int]] = set()
    late = 0
    columns = ("item_id", "reader__username", "verdict", "reader_id", "marked_at", "superseded_by_id")
    for item, name, verdict, reader, at, superseded in found.values_list(*columns):
        if superseded is None:
            standing.append(Mark(item, name, verdict))
        if (item, reader) in seen:
            continue
        seen.add((item, reader))
        if reader in opened and opened[reader] <= at:
            late += 1
        else:
            first.append(Mark(item, name, verdict))
    return Marks(standing, first, found.count() - len(seen), late)


def list_progress(audit: PositiveAudit) -> list[dict[str, object]]:
    """How many items each reader has marked, by name, and since when she has known results (``None``: not before she was
    through)."""
    opened = find_results_opened(audit)
    rows = PositiveMark.objects.filter(item__audit=audit, superseded_by__isnull=True).values_list(
        "reader__username", "reader_id"
    )
    counted = rows.annotate(n=Count("pk")).order_by("reader__username")
    return [{"reader": name, "marked": n, "opened_at": opened.get(reader)} for name, reader, n in counted]


def find_standing_mark(item: AuditedSuggestion, reader: User) -> PositiveMark | None:
    """The reader's own mark that stands."""
    return item.marks.filter(reader=reader, superseded_by__isnull=True).first()


def find_items(keys: Collection[int]) -> QuerySet[AuditedSuggestion]:
    """These items in their shuffled place, with what a page needs to show each."""
    found = AuditedSuggestion.objects.filter(pk__in=keys).order_by("place")
    return found.select_related("suggestion__code", "suggestion__sentence__turn__interview")


def find_standing_marks(items: Collection[AuditedSuggestion]) -> dict[int, list[PositiveMark]]:
    """By item: the mark of each reader that stands, by the reader's name."""
    found: dict[int, list[PositiveMark]] = {}
    rows = PositiveMark.objects.filter(item__in=items, superseded_by__isnull=True).select_related("reader")
    for mark in rows.order_by("reader__username"):
        found.setdefault(mark.item_id, []).append(mark)
    return found


def find_next_item(audit: PositiveAudit, reader: User, closed: Collection[int]) -> AuditedSuggestion | None:
    """The first item in its shuffled place that she has not marked and may see."""
    waiting = audit.items.exclude(marks__reader=reader).order_by("place")
    return waiting.exclude(suggestion__sentence__turn__interview__in=closed).first()


def list_interviews(audit: PositiveAudit) -> set[int]:
    """The interviews of the sample."""
    return set(audit.items.values_list("suggestion__sentence__turn__interview_id", flat=True))
