"""Reads of audits: the frame they are drawn from, the sample, and what reviewers marked."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet

from auditapp.batches.models import Batch
from auditapp.sob.formatter import SCORED_TASKS
from auditapp.sob.models import Audit, AuditItem, AuditMark, Judgment, Reading
from auditapp.sob.pure.measures.auditing import FrameGroup, Item, Mark
from auditapp.sob.pure.parsing import Outcome
from transcripts.accounts.models import User

AUDITED = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL)
"""The outcomes of readings that an audit of answers draws from: those that count, and refusals."""
READ_AT_ONCE = 500


class Standing(NamedTuple):
    """The reading of an answer that stands."""

    judgment_id: int
    layer: str
    outcome: str
    n_attributes: int
    attributes: dict[str, Any]


def list_frame(batch: Batch, scope: str) -> list[int]:
    """The keys of the answers whose standing reading an audit may draw, ascending."""
    ids = set(_find_later(batch, scope).filter(superseded_by__isnull=True).values_list("judgment_id", flat=True))
    if scope == Audit.Scope.ANSWERS:
        ids |= set(_find_by_rules(batch).filter(superseded_by__isnull=True).values_list("pk", flat=True))
    return sorted(ids)


def read_standing(ids: Sequence[int]) -> dict[int, Standing]:
    """The standing readings of these answers, by key."""
    found: dict[int, Standing] = {}
    columns = ("outcome", "n_attributes", "attributes")
    for start in range(0, len(ids), READ_AT_ONCE):
        part = ids[start : start + READ_AT_ONCE]
        rows = Judgment.objects.filter(pk__in=part, superseded_by__isnull=True).values_list("pk", *columns)
        found |= {pk: Standing(pk, "rules", *rest) for pk, *rest in rows}
        later = Reading.objects.filter(judgment__in=part, superseded_by__isnull=True)
        found |= {row[0]: Standing(*row) for row in later.values_list("judgment_id", "layer", *columns)}
    return found


def count_frame(audit: Audit) -> Counter[FrameGroup]:
    """The frame of an audit as it was when it was drawn, by what counts alike. Later readings change nothing here."""
    at = audit.made_at
    groups: Counter[FrameGroup] = Counter()
    later = _find_later(audit.batch, audit.scope).filter(_stood(at), made_at__lte=at)
    _add_groups(groups, later, "judgment__")
    if audit.scope == Audit.Scope.ANSWERS:
        _add_groups(groups, _find_by_rules(audit.batch).filter(_stood(at), cell__result__stored_at__lte=at), "")
    return groups


def _find_by_rules(batch: Batch) -> QuerySet[Judgment]:
    return Judgment.objects.filter(arm__batch=batch, arm__task__in=SCORED_TASKS, outcome__in=AUDITED)


def _find_later(batch: Batch, scope: str) -> QuerySet[Reading]:
    found = Reading.objects.filter(judgment__arm__batch=batch, judgment__arm__task__in=SCORED_TASKS)
    if scope == Audit.Scope.FORMATTER:
        return found.filter(layer=Reading.Layer.FORMATTER)
    return found.filter(outcome__in=AUDITED)


def _stood(at: datetime.datetime) -> Q:
    return Q(superseded_by__isnull=True) | Q(superseded_by__made_at__gt=at)


def _add_groups(groups: Counter[FrameGroup], found: QuerySet[Any], path: str) -> None:
    columns = (f"{path}arm__variant__label", f"{path}arm__task", "outcome", "n_attributes")
    for *group, n in found.order_by().values_list(*columns).annotate(n=Count("pk")).order_by(*columns):
        groups[FrameGroup(*group)] += n


def list_items(audit: Audit) -> list[Item]:
    """The sample as arithmetic takes it, in the order drawn."""
    rows = audit.items.order_by("position").values_list(
        "pk", "judgment__arm__variant__label", "judgment__arm__task", "layer", "outcome", "n_attributes"
    )
    return [Item(*row) for row in rows]


class Marks(NamedTuple):
    """What reviewers found blind: each one's last mark of an item, and her first, made before she saw the machine's reading.

    ``after_opening`` counts the marks that are left out, for their reviewers had opened the results before.
    """

    standing: list[Mark]
    first: list[Mark]
    second_thoughts: int
    after_opening: int


def list_marks(audit: Audit, reviewer: User | None = None) -> Marks:
    """The marks of an audit, or of one reviewer."""
    found = AuditMark.objects.filter(item__audit=audit).order_by("pk")
    if reviewer is not None:
        found = found.filter(reviewer=reviewer)
    blind = found.filter(after_opening=False)
    columns = ("item", "reviewer__username", "outcome", "n_attributes", "n_warranted")
    # In the order they were made: a later one takes the place of an earlier.
    standing = {(row[0], row[1]): Mark(*row) for row in blind.values_list(*columns)}
    first = [Mark(*row) for row in blind.filter(number=1).values_list(*columns)]
    left_out = found.filter(after_opening=True).count()
    return Marks(list(standing.values()), first, blind.filter(number__gt=1).count(), left_out)


def has_opened(audit: Audit, person: User) -> bool:
    """Whether she opened the results before she had marked all of it."""
    return audit.openings.filter(opened_by=person).exists()


def find_standing_mark(item: AuditItem, reviewer: User) -> AuditMark | None:
    """The reviewer's own mark that stands."""
    return item.marks.filter(reviewer=reviewer, superseded_by__isnull=True).first()


def find_next_item(audit: Audit, reviewer: User) -> AuditItem | None:
    """The first item in the order drawn that she has not marked."""
    return audit.items.exclude(marks__reviewer=reviewer).order_by("position").first()


class Progress(NamedTuple):
    """How far a reviewer has come."""

    reviewer: str
    marked: int


def list_progress(audit: Audit) -> list[Progress]:
    """How many items each reviewer has marked, by name."""
    rows = (
        AuditMark.objects.filter(item__audit=audit, superseded_by__isnull=True)
        .values_list("reviewer__username")
        .annotate(n=Count("pk"))
        .order_by("reviewer__username")
    )
    return [Progress(*row) for row in rows]


def count_own(audits: Sequence[Audit], reviewer: User) -> dict[int, int]:
    """How many items of each audit she has marked."""
    rows = (
        AuditMark.objects.filter(item__audit__in=audits, reviewer=reviewer, superseded_by__isnull=True)
        .values_list("item__audit")
        .annotate(n=Count("pk"))
        .order_by("item__audit")
    )
    return dict(rows)
