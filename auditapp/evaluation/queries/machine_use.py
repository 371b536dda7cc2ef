"""What the methods paragraph says about the annotators of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.text import capfirst

from auditapp.annotators.models import Annotator, CriticReading, DraftReading, Reading, TurnArm, WithholdingPlan
from auditapp.annotators.pure.answers import describe_never_reversed
from auditapp.batches.pure.estimating import describe_unreadable
from auditapp.evaluation.models import PositiveAudit, PositiveMark
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import ScorecardFigure, ScorecardPart
from auditapp.suggestions.models import Response, Showing
from transcripts.exchange.rows import MachineUse
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


NOT_AGREEMENT = (
    "People keep or dismiss a suggestion after seeing it. These shares are therefore no measure of agreement between people "
    "and the model."
)


def read_parts(project: Project, variants: Sequence[ModelVariant]) -> dict[int, ScorecardPart]:
    """By variant: how many of its answers could be read, its suggestions, how many were answered and kept, critics' verdicts on
    them, and its own as a critic; with the alarms of both.

    Models that neither annotated nor tested anything are left out.
    """
    figures: dict[int, list[ScorecardFigure]] = {}
    totals: Counter[tuple[int, str]] = Counter()
    verdicts, answers = count_verdicts(project), count_answers(project)
    for each in count_suggestions(project).filter(variant__in=variants):
        totals[each.variant_id, "annotators"] += 1
        totals[each.variant_id, "answered"] += each.answered
        totals[each.variant_id, "kept"] += each.kept
        own = figures.setdefault(each.variant_id, [])
        came, readable = answers.get(each.pk, (0, 0))
        if came:
            own.append(make_read_figure(str(each), came, readable))
        own.append(_make_kept_figure(each))
        own += _make_test_figures(
            project, each, [(tested, taken) for annotator, _, tested, taken in verdicts if annotator == each.pk]
        )
    for variant in variants:
        counts = [(tested, taken) for _, critic, tested, taken in verdicts if critic == variant.pk]
        if counts:
            tested, taken = (sum(numbers) for numbers in zip(*counts, strict=True))
            figures.setdefault(variant.pk, []).append(make_critic_figure(tested, taken))
    return {
        key: ScorecardPart(
            "Suggestions to coders",
            rows,
            " ".join([_summarise(key, totals), *(f"Alarm: {row.alarm}" for row in rows if row.alarm)]),
            [NOT_AGREEMENT],
        )
        for key, rows in figures.items()
    }


def count_answers(project: Project) -> dict[int, tuple[int, int]]:
    """By annotator, the answers for the desk that came, and those of them that could be read at least in part."""
    readings = Reading.objects.filter(annotator__project=project).order_by().values("annotator")
    counted = readings.annotate(
        came=Count("pk"), readable=Count("pk", filter=~Q(outcome=Reading.Outcome.INVALID))
    ).values_list("annotator", "came", "readable")
    return {annotator: (came, readable) for annotator, came, readable in counted}


def make_read_figure(annotator: str, came: int, readable: int) -> ScorecardFigure:
    """How many of an annotator's answers could be read, with an alarm if none could."""
    basis = f"{readable:,} of {came:,} answers, as they came"
    alarm = capfirst(describe_unreadable(came, readable))
    return ScorecardFigure(f"Answers that could be read, {annotator}", _share(readable, came), basis, alarm=alarm)


def _make_kept_figure(annotator: Any) -> ScorecardFigure:
    basis = (
        f"{annotator.kept} kept of {annotator.answered} answered, of {annotator.proposed} suggested; "
        f"codebook version {annotator.version.number}"
    )
    return ScorecardFigure(f"Kept by people, {annotator}", _share(annotator.kept, annotator.answered), basis)


def _make_test_figures(
    project: Project, annotator: Annotator, counts: Sequence[tuple[int, int]]
) -> list[ScorecardFigure]:
    """What each critic reversed, and how much of each audit is marked; an audit's results are on its own page."""
    reversals = reverse("evaluation:reversals", args=[project.slug]) + f"?annotator={annotator.pk}"
    figures = [
        ScorecardFigure(
            f"Reversed by a critic, {annotator}",
            _share(taken, tested),
            f"{taken} of {tested} tested suggestions; one model's verdict on another's work",
            reversals,
        )
        for tested, taken in counts
    ]
    for audit in PositiveAudit.objects.filter(annotator=annotator).annotate(size=Count("items")).order_by("pk"):
        marked = audit.items.filter(marks__isnull=False).distinct().count()
        basis = "suggestions marked by people; the audit's page has the false-positive rate of each code"
        address = reverse("evaluation:audit", args=[project.slug, audit.pk])
        figures.append(ScorecardFigure(f"Audit {audit.pk}, {annotator}", f"{marked} of {audit.size}", basis, address))
    return figures


def make_critic_figure(tested: int, taken: int) -> ScorecardFigure:
    """How many suggestions a critic reversed, with an alarm if it reversed none of many."""
    basis = f"{taken} of {tested} suggestions it tested"
    alarm = capfirst(describe_never_reversed(tested, taken))
    return ScorecardFigure("Reversed as a critic", _share(taken, tested), basis, alarm=alarm)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _summarise(variant: int, totals: Counter[tuple[int, str]]) -> str:
    answered, kept = totals[variant, "answered"], totals[variant, "kept"]
    if not totals[variant, "annotators"]:
        return "Tested other annotators' suggestions here as a critic."
    if not answered:
        return "Annotated interviews here; nobody has answered one of its suggestions yet."
    return f"{kept} of its {answered} answered suggestions were kept by people."
