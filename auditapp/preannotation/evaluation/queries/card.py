"""What became of a model's suggestions, for its card as a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count
from django.urls import reverse

from auditapp.llm.models import ModelVariant
from auditapp.llm.scorecards import ScorecardFigure, ScorecardPart
from auditapp.preannotation.evaluation.queries.machine_use import count_suggestions, count_verdicts
from auditapp.preannotation.models import Annotator, PositiveAudit
from transcripts.projects.models import Project

NOT_AGREEMENT = (
    "Kept and left come after a look at the suggestion, so they say how it was received, not how often machine and people "
    "agree when neither sees the other."
)


def read_parts(project: Project, variants: Sequence[ModelVariant]) -> dict[int, ScorecardPart]:
    """By variant: suggestions made, answered and kept, by codebook version; what critics made of them, and what it made
    of others' as a critic. Models that read nothing are left out."""
    figures: dict[int, list[ScorecardFigure]] = {}
    totals: Counter[tuple[int, str]] = Counter()
    verdicts = count_verdicts(project)
    for each in count_suggestions(project).filter(variant__in=variants):
        totals[each.variant_id, "annotators"] += 1
        totals[each.variant_id, "answered"] += each.answered
        totals[each.variant_id, "kept"] += each.kept
        own = figures.setdefault(each.variant_id, [])
        own.append(_tell_kept(each))
        own += _tell_tested(
            project, each, [(tested, taken) for annotator, _, tested, taken in verdicts if annotator == each.pk]
        )
    for variant in variants:
        counts = [(tested, taken) for _, critic, tested, taken in verdicts if critic == variant.pk]
        if counts:
            figures.setdefault(variant.pk, []).append(_tell_testing(counts))
    return {
        key: ScorecardPart("Suggestions to coders", rows, _summarise(key, totals), [NOT_AGREEMENT])
        for key, rows in figures.items()
    }


def _tell_kept(annotator: Any) -> ScorecardFigure:
    basis = (
        f"{annotator.kept} kept of {annotator.answered} answered, of {annotator.proposed} suggested; "
        f"codebook version {annotator.version.number}"
    )
    return ScorecardFigure(f"Kept by people, {annotator}", _share(annotator.kept, annotator.answered), basis)


def _tell_tested(project: Project, annotator: Annotator, counts: Sequence[tuple[int, int]]) -> list[ScorecardFigure]:
    """What critics reversed, each by itself, and how far people are with audits, whose results stand on their own page."""
    reversals = reverse("preannotation:reversals", args=[project.slug]) + f"?annotator={annotator.pk}"
    told = [
        ScorecardFigure(
            f"Reversed by a critic, {annotator}",
            _share(taken, tested),
            f"{taken} of {tested} tested suggestions; one machine's word against another's",
            reversals,
        )
        for tested, taken in counts
    ]
    for audit in PositiveAudit.objects.filter(annotator=annotator).annotate(size=Count("items")).order_by("pk"):
        marked = audit.items.filter(marks__isnull=False).distinct().count()
        basis = "suggestions people have marked; the false-positive rate of each code stands there"
        address = reverse("preannotation:audit", args=[project.slug, audit.pk])
        told.append(ScorecardFigure(f"Audit {audit.pk}, {annotator}", f"{marked} of {audit.size}", basis, address))
    return told


def _tell_testing(counts: Sequence[tuple[int, int]]) -> ScorecardFigure:
    tested, taken = (sum(numbers) for numbers in zip(*counts, strict=True))
    return ScorecardFigure("Reversed as a critic", _share(taken, tested), f"{taken} of {tested} suggestions it tested")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _summarise(variant: int, totals: Counter[tuple[int, str]]) -> str:
    answered, kept = totals[variant, "answered"], totals[variant, "kept"]
    if not totals[variant, "annotators"]:
        return "Tested other readers' suggestions here as a critic."
    if not answered:
        return "Read interviews here; nobody has answered a suggestion of its yet."
    return f"{kept} of its {answered} answered suggestions were kept by people."
