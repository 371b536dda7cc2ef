"""What the methods paragraph says of machines that read a study."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, QuerySet

from auditapp.preannotation.models import Annotator, Response
from transcripts.exchange.registry import MachineUse
from transcripts.projects.models import Project

STANDING = Q(suggestions__responses__superseded_at__isnull=True, suggestions__responses__isnull=False)
TAKEN = Q(suggestions__responses__verdict__in=[Response.Verdict.KEPT, Response.Verdict.EDITED])


def count_suggestions(project: Project) -> QuerySet[Any]:
    """Each annotator with the number of its suggestions (``proposed``), of those ``answered`` and of those ``kept``."""
    return (
        Annotator.objects.filter(project=project)
        .select_related("variant__account", "version")
        .annotate(
            proposed=Count("suggestions", distinct=True),
            answered=Count("suggestions__responses", filter=STANDING, distinct=True),
            kept=Count("suggestions__responses", filter=STANDING & TAKEN, distinct=True),
        )
        .order_by("pk")
    )


def read_machine_uses(project: Project) -> list[MachineUse]:
    """Each annotator with its suggestions, how many people answered, and how many became codings: one query."""
    return [
        MachineUse(
            name=each.name,
            model=each.variant.model,
            is_invented=each.variant.is_fake,
            codebook_version=each.version.number,
            suggestions=each.proposed,
            answered=each.answered,
            kept=each.kept,
        )
        for each in count_suggestions(project)
    ]
