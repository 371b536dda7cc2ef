"""Recount what stored readings attribute after the rules of counting have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from auditapp.batches.models import Arm
from auditapp.sob.judging.kind import MAX_ITEMS
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.counting import LEXICON_VERSION, count_in_every_way
from auditapp.sob.pure.parsing import Outcome
from auditapp.sob.queries import find_schema
from auditapp.sob.report.store import outdate_reports
from transcripts.audit_trail import trail

GROUP = 2_000
COUNTS = ("n_attributes", "n_named", "n_on_schema", "n_strict", "n_items", "has_list")


def recount_readings(*, by: trail.Actor) -> tuple[int, int]:
    """Count every judgment and every later reading again from its attributes, which stay as they are.

    Returns the number of attributed readings, and how many of them have other counts now.

    Each group is stored with an event if a count has changed, so an interrupted run can be started again. Stored reports
    become out of date.
    """
    schemas = {arm.pk: find_schema(arm) for arm in Arm.objects.filter(batch__kind="sob")}
    looked_at = changed_in_all = 0
    kinds: tuple[tuple[QuerySet[Any, Any], str], ...] = (
        (Judgment.objects.all(), "arm_id"),
        (Reading.objects.all(), "judgment__arm_id"),
    )
    try:
        for stored, arm in kinds:
            last = 0
            while arms := dict(_list_next(stored, arm, last)):
                rows: list[Any] = list(stored.filter(pk__in=list(arms)).order_by("pk"))
                changed = _list_changed(rows, {key: schemas[arm_id] for key, arm_id in arms.items()})
                if changed:
                    _store(stored, changed, by)
                looked_at += len(rows)
                changed_in_all += len(changed)
                last = max(arms)
    finally:
        outdate_reports()
    return looked_at, changed_in_all


def _list_next(stored: QuerySet[Any, Any], arm: str, last: int) -> list[tuple[int, int]]:
    """The next attributed readings after ``last``, each with its arm."""
    found = stored.filter(pk__gt=last, outcome=Outcome.ATTRIBUTED)
    return [(pk, arm_id) for pk, arm_id in found.order_by("pk").values_list("pk", arm)[:GROUP]]


def _list_changed(rows: Sequence[Any], schemas: Mapping[int, Sequence[str]]) -> list[Any]:
    """The readings whose counts have changed, with the new counts."""
    changed = []
    for row in rows:
        counts = count_in_every_way(row.attributes, schemas[row.pk])
        has_list = any(isinstance(value, list) for value in row.attributes.values())
        now = (*counts[:4], min(counts.items, MAX_ITEMS), has_list)
        if now != tuple(getattr(row, name) for name in COUNTS):
            for name, value in zip(COUNTS, now, strict=True):
                setattr(row, name, value)
            changed.append(row)
    return changed


@transaction.atomic
def _store(stored: QuerySet[Any, Any], changed: Sequence[Any], by: trail.Actor) -> None:
    stored.bulk_update(changed, COUNTS, batch_size=200)
    trail.record(
        "sob.readings.recounted",
        target=changed[0],
        by=by,
        details={
            "readings": len(changed),
            "first": changed[0].pk,
            "last": changed[-1].pk,
            "lexicon": LEXICON_VERSION,
        },
    )
