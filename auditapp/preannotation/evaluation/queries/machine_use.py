"""What the methods paragraph says of machines that read a study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from auditapp.preannotation.models import (
    Annotator,
    CriticReading,
    DraftReading,
    PositiveAudit,
    PositiveMark,
    Response,
    Showing,
    TurnArm,
    WithholdingPlan,
)
from transcripts.exchange.registry import MachineUse
from transcripts.projects.models import Project

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
    """Annotator, critic, suggestions it tested, and those whose latest verdict by it is a reversal: one query."""
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
    """Each annotator with its suggestions, how many people answered, and how many became codings: one query."""
    return [
        MachineUse(
            name=str(each),
            model=each.variant.model if each.variant else "",
            is_invented=bool(each.variant and each.variant.is_fake),
            codebook_version=each.version.number,
            suggestions=each.proposed,
            answered=each.answered,
            kept=each.kept,
            reads_by="" if each.variant else each.get_kind_display().lower(),
        )
        for each in count_suggestions(project)
    ]


def read_machine_notes(project: Project) -> list[str]:
    """How suggestions were kept from leading people, and who tested them. Nothing where no machine reads."""
    if not Annotator.objects.filter(project=project).exists():
        return []
    return [*_tell_showing(project), *_tell_withholding(project), *_tell_critics(project), *_tell_audits(project)]


def _tell_showing(project: Project) -> Iterator[str]:
    yield (
        "At the desk, suggestions for a sentence were shown to a coder only after her own decision on it, which is kept as her "
        "blind label."
    )
    drafts = DraftReading.objects.filter(interview__project=project).values("interview").distinct().count()
    if drafts:
        drafted = Showing.objects.filter(sentence__turn__interview__project=project, is_draft=True).count()
        yield (
            f"Except in {drafts:,} {'interview' if drafts == 1 else 'interviews'} used as drafts, where they could be shown before "
            f"({drafted:,} looks): codings made there after such a look are assisted and count in no measure."
        )


def _tell_withholding(project: Project) -> Iterator[str]:
    arms = TurnArm.objects.filter(plan__project=project)
    drawn = arms.aggregate(turns=Count("pk"), withheld=Count("pk", filter=Q(arm=TurnArm.Arm.WITHHELD)))
    if not drawn["turns"]:
        yield "No turns were withheld from suggestions."
        return
    plans = WithholdingPlan.objects.filter(turn_arms__isnull=False, project=project).distinct().order_by("number")
    shares = ", ".join(f"{plan.share_percent} % (plan {plan.number}, seed {plan.seed})" for plan in plans)
    yield (
        f"In each interview, turns were drawn at random and never showed suggestions at the desk: {drawn['withheld']:,} of "
        f"{drawn['turns']:,} turns, by a share of {shares}."
    )


def _tell_critics(project: Project) -> Iterator[str]:
    counts = count_verdicts(project)
    tested, reversed_ones = sum(row[2] for row in counts), sum(row[3] for row in counts)
    if not tested:
        return
    critics = len({critic for _, critic, *_ in counts})
    yield (
        f"A second pass by {critics:,} {'model' if critics == 1 else 'models'} checked suggestions, each against its "
        f"source: {reversed_ones:,} of {tested:,} verdicts were reversals. A verdict removes no suggestion."
    )


def _tell_audits(project: Project) -> Iterator[str]:
    audits = PositiveAudit.objects.filter(annotator__project=project).count()
    if audits:
        marks = PositiveMark.objects.filter(item__audit__annotator__project=project).active()
        yield (
            f"In {audits:,} {'audit' if audits == 1 else 'audits'} people judged random samples of suggestions, without the "
            f"machine's reason: {marks.count():,} active marks."
        )
