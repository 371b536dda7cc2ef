"""Who read the answers of a batch: rules, formatters and people, and which of the formatters invent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count

from auditapp.batches.models import Batch
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.queries.arms import AskedArm
from auditapp.sob.queries.standing import find_cell_range


class Readers(NamedTuple):
    """Of so many answers, how many stand as a formatter or a person read them; ``invented`` are a fake formatter's."""

    answers: int = 0
    formatter: int = 0
    person: int = 0
    invented: int = 0

    @property
    def later(self) -> int:
        """The answers that do not stand as the rules read them."""
        return self.formatter + self.person


def count_readers(batch: Batch, arm_ids: Sequence[int]) -> Readers:
    """The readings that stand, by who made them."""
    first, last = find_cell_range(batch)
    standing = Reading.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    rows = standing.filter(judgment__arm__in=arm_ids).order_by()
    counts = rows.values_list("layer", "formatter_cell__arm__variant__account__provider").annotate(n=Count("pk"))
    formatter = person = invented = 0
    for layer, provider, count in counts:
        if layer == Reading.Layer.PERSON:
            person += count
        else:
            formatter += count
            invented += count if provider == "fake" else 0
    return Readers(Judgment.objects.filter(arm__in=arm_ids).count(), formatter, person, invented)


def find_parsers(batch: Batch, arms: Sequence[AskedArm]) -> list[str]:
    """The versions of the rules that read the answers when they came."""
    first, last = find_cell_range(batch)
    asked = {arm.arm_id for arm in arms}
    # Along the keys, once: an index by arm would look up every row by itself.
    rows = Judgment.objects.filter(cell__gte=first, cell__lte=last).order_by()
    return sorted({parser for arm, parser in rows.values_list("arm_id", "parser").distinct() if arm in asked})
