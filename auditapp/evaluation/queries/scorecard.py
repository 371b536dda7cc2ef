"""What became of a model's suggestions, for its scorecard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.text import capfirst

from auditapp.annotators.models import Annotator, Reading
from auditapp.annotators.pure.answers import describe_never_reversed
from auditapp.batches.pure.alarms import describe_unreadable
from auditapp.evaluation.models import PositiveAudit
from auditapp.evaluation.queries.machine_use import count_suggestions, count_verdicts
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import ScorecardFigure, ScorecardPart
from transcripts.studies.models import Project

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
