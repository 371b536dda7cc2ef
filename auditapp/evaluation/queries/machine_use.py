"""What the methods paragraph says about the annotators of a study."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from auditapp.annotators.models import Annotator, CriticReading, DraftReading, TurnArm, WithholdingPlan
from auditapp.evaluation.models import PositiveAudit, PositiveMark
from auditapp.suggestions.models import Response, Showing
from transcripts.exchange.registry import MachineUse
from transcripts.studies.models import Project

TAKEN = (Response.Verdict.KEPT, Response.Verdict.EDITED)
ACTIVE = Q(suggestions__responses__superseded_at__isnull=True)
ANSWERED = ACTIVE & Q(suggestions__responses__verdict__in=[*TAKEN, Response.Verdict.LEFT])


def count_suggestions(project: Project) -> QuerySet[Any]:
    """Each annotator with the number of its suggestions (``proposed``), of those ``answered`` and of those ``kept``."""
    return (
        Annotator.objects.filter(project=project)
        .select_related("variant__account", "version")
        .annotate(
            proposed=Count("suggestions", distinct=True),
            answered=Count("suggestions__responses", filter=ANSWERED, distinct=True),
            kept=Count(
                "suggestions__responses",
                filter=ACTIVE & Q(suggestions__responses__verdict__in=TAKEN),
                distinct=True,
            ),
        )
        .order_by("pk")
    )


def count_verdicts(project: Project) -> list[tuple[int, int, int, int]]:
    """Annotator, critic, suggestions tested, and how many of them the critic's latest verdict reverses: one query."""
    later = CriticReading.objects.filter(
        suggestion=OuterRef("suggestion"),
        cell__arm__variant=OuterRef("cell__arm__variant"),
        cell__gt=OuterRef("cell"),
    ).exclude(verdict="")
    latest = CriticReading.objects.filter(suggestion__annotator__project=project).exclude(verdict="")
    keys = ("suggestion__annotator_id", "cell__arm__variant_id")
    counted = (
        latest.exclude(Exists(later))
        .values_list(*keys)
        .annotate(tested=Count("pk"), reversed=Count("pk", filter=Q(verdict=CriticReading.Verdict.REVERSED)))
        .order_by(*keys)
    )
    return list(counted)


def read_machine_uses(project: Project) -> list[MachineUse]:
    """Each annotator with its suggestions, how many of them people answered, and how many they kept: one query."""
    return [
        MachineUse(
            name=str(each),
            model=f"{each.variant.model}; {each.variant.settings_in_words}" if each.variant else "",
            is_invented=bool(each.variant and each.variant.is_fake),
            codebook_version=each.version.number,
            suggestions=each.proposed,
            answered=each.answered,
            kept=each.kept,
            reads_by="" if each.variant else each.get_kind_display().lower(),
        )
        for each in count_suggestions(project)
    ]


def read_machine_notes(project: Project) -> dict[str, Any]:
    """When coders saw suggestions, and how critics and audits tested them. Empty in a study without annotators."""
    if not Annotator.objects.filter(project=project).exists():
        return {}
    arms = TurnArm.objects.filter(turn__interview__project=project)
    plans = WithholdingPlan.objects.filter(turn_arms__isnull=False, project=project).distinct()
    showings = Showing.objects.filter(sentence__turn__interview__project=project)
    verdicts = count_verdicts(project)
    return {
        "drafts": DraftReading.objects.filter(interview__project=project).values("interview").distinct().count(),
        "draft_looks": showings.filter(is_draft=True).count(),
        "turns": arms.count(),
        "withheld": arms.filter(arm=TurnArm.Arm.WITHHELD).count(),
        "plans": list(plans.order_by("number")),
        "critics": len({critic for _, critic, *_ in verdicts}),
        "tested": sum(tested for _, _, tested, _ in verdicts),
        "reversed": sum(reversals for *_, reversals in verdicts),
        "audits": PositiveAudit.objects.filter(annotator__project=project).count(),
        "marks": PositiveMark.objects.filter(item__audit__annotator__project=project).active().count(),
    }
