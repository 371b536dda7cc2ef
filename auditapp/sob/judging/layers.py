"""The layers of an answer's readings: rules first, then a formatter, then people. All are kept, the last one counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone

from auditapp.sob.judging.kind import write_reading
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.parsing import Parsed
from auditapp.sob.queries.arms import find_schema


def lock_judgments(ids: Iterable[int]) -> dict[int, Judgment]:
    """The judgments with their arms, held until the transaction ends, so that one reading of an answer follows another."""
    found = Judgment.objects.select_related("arm").filter(pk__in=list(ids)).order_by("pk")
    return {each.pk: each for each in found.select_for_update(of=("self",), no_key=True)}


def find_current_readings(ids: Iterable[int]) -> dict[int, Reading]:
    """The current reading by judgment, if it is not that of the rules."""
    return {
        each.judgment_id: each for each in Reading.objects.filter(judgment__in=list(ids), superseded_by__isnull=True)
    }


def make_reading(judgment: Judgment, current: Reading | None, parsed: Parsed, **who: Any) -> Reading:
    """The next reading of an answer, not stored yet. Reads judgment.arm."""
    return Reading(
        judgment=judgment,
        number=current.number + 1 if current else 1,
        made_at=timezone.now(),
        **write_reading(parsed, find_schema(judgment.arm)),
        **who,
    )


def add_readings(rows: Sequence[Reading], current: dict[int, Reading]) -> None:
    """Store readings, at most one of each answer, each in place of the one before. Reads reading.judgment."""
    Reading.objects.bulk_create(rows)
    first: list[Judgment] = []
    former: list[Reading] = []
    for row in rows:
        before = current.get(row.judgment_id)
        if before is None:
            row.judgment.superseded_by = row
            first.append(row.judgment)
        else:
            before.superseded_by = row
            former.append(before)
    Judgment.objects.bulk_update(first, ["superseded_by"], batch_size=200)
    Reading.objects.bulk_update(former, ["superseded_by"], batch_size=200)
