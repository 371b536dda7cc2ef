"""Exports of people's judgments of annotators: marks of audits, sorted disagreements, and the annotators chosen for codes; and
what the methods paragraph says about the annotators of a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.text import capfirst

from auditapp.annotators.models import (
    Annotator,
    CodeChoice,
    CriticAnswer,
    DraftInterview,
    TurnAnswer,
    TurnArm,
    WithholdingPlan,
)
from auditapp.annotators.pure.answers import describe_never_rejected
from auditapp.batches.pure.estimates import describe_unreadable
from auditapp.evaluation.models import Disagreement, PositiveAudit, PositiveMark
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import ScorecardFigure, ScorecardPart
from auditapp.suggestions.exports import make_export, of_annotator
from auditapp.suggestions.models import Response, Showing
from transcripts.exchange.rows import MachineUse, Scope, column, columns, find_place, stream
from transcripts.studies.models import Study

TAKEN = (Response.Verdict.ACCEPTED, Response.Verdict.EDITED)
ACTIVE = Q(suggestions__responses__superseded_at__isnull=True)
ANSWERED = ACTIVE & Q(suggestions__responses__verdict__in=[*TAKEN, Response.Verdict.REJECTED])


def count_suggestions(study: Study) -> QuerySet[Any]:
    """Each annotator with the number of its suggestions (``proposed``), of those ``answered`` and of those ``accepted``."""
    return (
        Annotator.objects.filter(study=study)
        .select_related("variant__account", "version")
        .annotate(
            proposed=Count("suggestions", distinct=True),
            answered=Count("suggestions__responses", filter=ANSWERED, distinct=True),
            accepted=Count(
                "suggestions__responses",
                filter=ACTIVE & Q(suggestions__responses__verdict__in=TAKEN),
                distinct=True,
            ),
        )
        .order_by("pk")
    )


def count_verdicts(study: Study) -> list[tuple[int, int, int, int]]:
    """Annotator, critic, number of tested suggestions, and how many of them the critic's latest verdict rejects. One query."""
    later = CriticAnswer.objects.filter(
        suggestion=OuterRef("suggestion"),
        cell__arm__variant=OuterRef("cell__arm__variant"),
        cell__gt=OuterRef("cell"),
    ).exclude(verdict="")
    latest = CriticAnswer.objects.filter(suggestion__annotator__study=study).exclude(verdict="")
    keys = ("suggestion__annotator_id", "cell__arm__variant_id")
    counted = (
        latest.exclude(Exists(later))
        .values_list(*keys)
        .annotate(tested=Count("pk"), rejected=Count("pk", filter=Q(verdict=CriticAnswer.Verdict.REJECTED)))
        .order_by(*keys)
    )
    return list(counted)


def read_machine_uses(study: Study) -> list[MachineUse]:
    """Each annotator with its suggestions, how many of them people answered, and how many they accepted: one query."""
    return [
        MachineUse(
            name=str(each),
            model=f"{each.variant.model}; {each.variant.settings_in_words}" if each.variant else "",
            is_invented=bool(each.variant and each.variant.is_fake),
            codebook_version=each.version.number,
            suggestions=each.proposed,
            answered=each.answered,
            accepted=each.accepted,
            reads_by="" if each.variant else each.get_kind_display().lower(),
        )
        for each in count_suggestions(study)
    ]


def read_machine_notes(study: Study) -> dict[str, Any]:
    """When coders saw suggestions, and how critics and audits tested these. Empty in a study without annotators."""
    if not Annotator.objects.filter(study=study).exists():
        return {}
    arms = TurnArm.objects.filter(turn__interview__study=study)
    plans = WithholdingPlan.objects.filter(turn_arms__isnull=False, study=study).distinct()
    showings = Showing.objects.filter(sentence__turn__interview__study=study)
    verdicts = count_verdicts(study)
    return {
        "drafts": DraftInterview.objects.filter(interview__study=study).values("interview").distinct().count(),
        "draft_looks": showings.filter(is_draft=True).count(),
        "turns": arms.count(),
        "withheld": arms.filter(arm=TurnArm.Arm.WITHHELD).count(),
        "plans": list(plans.order_by("number")),
        "critics": len({critic for _, critic, *_ in verdicts}),
        "tested": sum(tested for _, _, tested, _ in verdicts),
        "rejected": sum(rejections for *_, rejections in verdicts),
        "audits": PositiveAudit.objects.filter(annotator__study=study).count(),
        "marks": PositiveMark.objects.filter(item__audit__annotator__study=study).active().count(),
    }


NOT_AGREEMENT = (
    "People accept or reject a suggestion after seeing it. These shares therefore do not measure agreement between people and the "
    "model."
)


def read_parts(study: Study, variants: Sequence[ModelVariant]) -> dict[int, ScorecardPart]:
    """By variant: how many of its answers could be read, its suggestions, how many of them were answered and accepted,
    critics' verdicts on them, and its own verdicts as a critic; with the alarms of both.

    Models that neither annotated nor tested anything are left out.
    """
    figures: dict[int, list[ScorecardFigure]] = {}
    totals: Counter[tuple[int, str]] = Counter()
    verdicts, answers = count_verdicts(study), count_answers(study)
    for each in count_suggestions(study).filter(variant__in=variants):
        totals[each.variant_id, "annotators"] += 1
        totals[each.variant_id, "answered"] += each.answered
        totals[each.variant_id, "accepted"] += each.accepted
        own = figures.setdefault(each.variant_id, [])
        came, readable = answers.get(each.pk, (0, 0))
        if came:
            own.append(make_read_figure(str(each), came, readable))
        own.append(_make_accepted_figure(each))
        own += _make_test_figures(
            study, each, [(tested, taken) for annotator, _, tested, taken in verdicts if annotator == each.pk]
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


def count_answers(study: Study) -> dict[int, tuple[int, int]]:
    """By annotator, the number of received answers for the desk, and of those that could be read at least in part."""
    turn_answers = TurnAnswer.objects.filter(annotator__study=study).order_by().values("annotator")
    counted = turn_answers.annotate(
        came=Count("pk"), readable=Count("pk", filter=~Q(outcome=TurnAnswer.Outcome.INVALID))
    ).values_list("annotator", "came", "readable")
    return {annotator: (came, readable) for annotator, came, readable in counted}


def make_read_figure(annotator: str, came: int, readable: int) -> ScorecardFigure:
    """How many of an annotator's answers could be read, with an alarm if none could."""
    basis = f"{readable:,} of {came:,} answers, as they came"
    alarm = capfirst(describe_unreadable(came, readable))
    return ScorecardFigure(f"Answers that could be read, {annotator}", _share(readable, came), basis, alarm=alarm)


def _make_accepted_figure(annotator: Any) -> ScorecardFigure:
    basis = (
        f"{annotator.accepted} accepted of {annotator.answered} answered, of {annotator.proposed} suggested; "
        f"codebook version {annotator.version.number}"
    )
    return ScorecardFigure(f"Accepted by people, {annotator}", _share(annotator.accepted, annotator.answered), basis)


def _make_test_figures(study: Study, annotator: Annotator, counts: Sequence[tuple[int, int]]) -> list[ScorecardFigure]:
    """What each critic rejected, and how much of each audit has been marked; an audit's results are on the audit's page."""
    rejections = reverse("evaluation:rejections", args=[study.slug]) + f"?annotator={annotator.pk}"
    figures = [
        ScorecardFigure(
            f"Rejected by a critic, {annotator}",
            _share(taken, tested),
            f"{taken} of {tested} tested suggestions; this is one model's verdict on another model's work",
            rejections,
        )
        for tested, taken in counts
    ]
    for audit in PositiveAudit.objects.filter(annotator=annotator).annotate(size=Count("items")).order_by("pk"):
        marked = audit.items.filter(marks__isnull=False).distinct().count()
        basis = "suggestions marked by people; the audit's page has the false-positive rate of each code"
        address = reverse("evaluation:audit", args=[study.slug, audit.pk])
        figures.append(ScorecardFigure(f"Audit {audit.pk}, {annotator}", f"{marked} of {audit.size}", basis, address))
    return figures


def make_critic_figure(tested: int, taken: int) -> ScorecardFigure:
    """How many suggestions a critic rejected, with an alarm if it rejected none of many."""
    basis = f"{taken} of {tested} suggestions it tested"
    alarm = capfirst(describe_never_rejected(tested, taken))
    return ScorecardFigure("Rejected as a critic", _share(taken, tested), basis, alarm=alarm)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _summarise(variant: int, totals: Counter[tuple[int, str]]) -> str:
    answered, accepted = totals[variant, "answered"], totals[variant, "accepted"]
    if not totals[variant, "annotators"]:
        return "As a critic, it tested other annotators' suggestions in this study."
    if not answered:
        return "It annotated interviews in this study; nobody has answered any of its suggestions yet."
    return f"{accepted} of its {answered} answered suggestions were accepted by people."


AUDITED = "item__suggestion__"
MARK_COLUMNS = [
    *columns(
        PositiveMark,
        "study interview turn sentence_id sentence code_id",
        find_place(f"{AUDITED}sentence__"),
        sentence=f"{AUDITED}sentence__position",
        code_id=f"{AUDITED}code__identifier",
    ),
    *of_annotator("item__audit__annotator__"),
    *columns(
        PositiveMark,
        "suggestion_id audit with_critic per_code seed place population reader verdict note marked mark_id superseded_by",
        suggestion_id="item__suggestion",
        audit="item__audit",
        with_critic="item__audit__with_critic",
        per_code="item__audit__per_code",
        seed="item__audit__seed",
        place="item__position",
        population="item__population",
        reader="reviewer__username",
        marked="made_at",
        mark_id="pk",
    ),
]
DISAGREEMENT_COLUMNS = [
    *columns(
        Disagreement, "study interview turn sentence_id sentence code_id", find_place(), code_id="code_identifier"
    ),
    *of_annotator("annotator__"),
    *columns(Disagreement, "category note sorted sorted_by disagreement_id superseded_by"),
]
CHOICE_COLUMNS = [
    *columns(CodeChoice, "study code_id", code_id="code_identifier"),
    column(
        "annotator",
        "annotator__name",
        "The annotator that is trusted for the code; empty if the code is left to people.",
    ),
    of_annotator("annotator__")[1],
    *columns(CodeChoice, "with_critic reason chosen chosen_by superseded"),
]


def read_marks(scope: Scope) -> Iterator[Sequence[object]]:
    """Every mark of every audit, including marks that were changed later."""
    marks = PositiveMark.objects.filter(scope.within(AUDITED + "sentence__turn__interview")).order_by("pk")
    return stream(marks if scope.only is None else marks.filter(reviewer=scope.only), MARK_COLUMNS)


def read_disagreements(scope: Scope) -> Iterator[Sequence[object]]:
    """Every sorted disagreement between a machine and blind coders."""
    rows = Disagreement.objects.filter(scope.within("sentence__turn__interview")).order_by("pk")
    return stream(rows if scope.only is None else rows.filter(sorted_by=scope.only), DISAGREEMENT_COLUMNS)


def read_choices(scope: Scope) -> Iterator[Sequence[object]]:
    """Every choice of an annotator for a code, including earlier ones."""
    return stream(CodeChoice.objects.filter(study=scope.study).order_by("pk"), CHOICE_COLUMNS)


POSITIVE_MARKS = make_export(
    "positive_marks",
    "Audits of positives",
    "The verdicts of people on each audited suggestion: whether its code applies.",
    row="a person's verdict on an audited suggestion",
    columns=MARK_COLUMNS,
    read_rows=read_marks,
    unblinds=True,
)
DISAGREEMENTS = make_export(
    "machine_disagreements",
    "Disagreements with machines, sorted",
    "Why a machine and blind coders differ on a code for a sentence, as sorted by people.",
    row="a sorted difference between a machine and blind coders",
    columns=DISAGREEMENT_COLUMNS,
    read_rows=read_disagreements,
    unblinds=True,
)
CODE_CHOICES = make_export(
    "code_choices",
    "Annotators chosen per code",
    "The annotator chosen for each code, and the reason.",
    row="a choice of an annotator for a code",
    columns=CHOICE_COLUMNS,
    read_rows=read_choices,
    is_narrowed=False,
)
EXPORTS = (POSITIVE_MARKS, DISAGREEMENTS, CODE_CHOICES)
