"""Reads of audits of positives: the sample, and what its marks show."""

from __future__ import annotations

from typing import Any

from auditapp.preannotation.evaluation.pure.auditing import Mark, build_report
from auditapp.preannotation.models import PositiveAudit, PositiveMark


def map_items(audit: PositiveAudit) -> dict[int, str]:
    """The code of each item of the sample, code by code in the order of the codebook."""
    rows = audit.items.order_by("suggestion__code__family__position", "suggestion__code__position", "position")
    return dict(rows.values_list("pk", "suggestion__code__identifier"))


def list_active_marks(audit: PositiveAudit) -> list[Mark]:
    """The latest mark of each reviewer and item."""
    rows = PositiveMark.objects.filter(item__audit=audit).active().order_by("pk")
    return [Mark(*row) for row in rows.values_list("item", "reviewer__username", "verdict")]


def read_report(audit: PositiveAudit) -> dict[str, Any]:
    """The results of an audit; ``second_thoughts`` are corrections, ``late`` first marks made after opening the results."""
    marks = PositiveMark.objects.filter(item__audit=audit).order_by("pk")
    first = marks.filter(number=1)
    blind_first = [Mark(*row) for row in first.blind().values_list("item", "reviewer__username", "verdict")]
    populations = dict(audit.items.values_list("suggestion__code__identifier", "population").order_by("pk"))
    return {
        **build_report(map_items(audit), list_active_marks(audit), blind_first, populations),
        "second_thoughts": marks.filter(number__gt=1).count(),
        "late": first.filter(after_opening=True).count(),
    }


def list_interviews(audit: PositiveAudit) -> set[int]:
    """The interviews of the sample."""
    return set(audit.items.values_list("suggestion__sentence__turn__interview_id", flat=True))
