"""Who read the answers of a batch: rules, formatters and people, and which of the formatters invent readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Count

from auditapp.batches.models import Batch, Cell
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.queries.arms import AskedArm


class Readers(NamedTuple):
    """How many answers of a batch have a current reading by a formatter or a person. ``invented`` are a fake formatter's;
    only where there are such are all ``answers`` counted."""

    answers: int = 0
    formatter: int = 0
    person: int = 0
    invented: int = 0

    @property
    def later(self) -> int:
        """The answers whose current reading was not made by the rules."""
        return self.formatter + self.person


def count_readers(arm_ids: Sequence[int], cells: tuple[int, int]) -> Readers:
    """The current readings, by who made them; ``cells`` is the range of the batch's cells."""
    first, last = cells
    current = Reading.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    rows = current.filter(judgment__arm__in=arm_ids).order_by()
    counts = rows.values_list("layer", "formatter_cell__arm__variant__account__provider").annotate(n=Count("pk"))
    formatter = person = invented = 0
    for layer, provider, count in counts:
        if layer == Reading.Layer.PERSON:
            person += count
        else:
            formatter += count
            invented += count if provider == "fake" else 0
    answers = Judgment.objects.filter(arm__in=arm_ids).count() if invented else 0
    return Readers(answers, formatter, person, invented)


def count_invented(batch: Batch, arm_ids: Sequence[int]) -> int:
    """The current readings by a fake formatter."""
    first, last = find_cell_range(batch)
    current = Reading.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    fake = current.filter(formatter_cell__arm__variant__account__provider="fake")
    return fake.filter(judgment__arm__in=arm_ids).count()


def find_parsers(batch: Batch, arms: Sequence[AskedArm]) -> list[str]:
    """The versions of the rules that read the answers when they came."""
    first, last = find_cell_range(batch)
    asked = {arm.arm_id for arm in arms}
    # Along the keys, once: an index by arm would look up every row by itself.
    rows = Judgment.objects.filter(cell__gte=first, cell__lte=last).order_by()
    return sorted({parser for arm, parser in rows.values_list("arm_id", "parser").distinct() if arm in asked})


def find_cell_range(batch: Batch) -> tuple[int, int]:
    """The first and the last key of a batch's cells; (0, 0) where it has none.

    State by state, as an index has them: asked for all at once, PostgreSQL goes through every cell of other batches.
    """
    with connection.cursor() as cursor:
        cursor.execute(_EDGES, {"batch": batch.pk})
        found = [key for key in cursor.fetchone() or () if key is not None]
    return min(found, default=0), max(found, default=0)


# Written out, for a report asks five times, and the query builder needs ten times as long for it as the database.
_EDGE = "(SELECT id FROM batches_cell WHERE batch_id = %(batch)s AND state = '{}' ORDER BY id {} LIMIT 1)"
_EDGES = "SELECT " + ", ".join(_EDGE.format(state, order) for state in Cell.State.values for order in ("ASC", "DESC"))
