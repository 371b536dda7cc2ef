"""Exports of what people said of annotators: marks of audits, sorted disagreements, and the annotators chosen per code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditapp.annotators.models import CodeChoice
from auditapp.evaluation.models import Disagreement, PositiveMark
from auditapp.suggestions.exports import make_export, of_annotator
from transcripts.exchange.rows import Scope, column, columns, find_place, stream

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
    """Every mark of every audit, those that were thought over too."""
    marks = PositiveMark.objects.filter(scope.within(AUDITED + "sentence__turn__interview")).order_by("pk")
    return stream(marks if scope.only is None else marks.filter(reviewer=scope.only), MARK_COLUMNS)


def read_disagreements(scope: Scope) -> Iterator[Sequence[object]]:
    """Every sorted disagreement of a machine with blind readers."""
    rows = Disagreement.objects.filter(scope.within("sentence__turn__interview")).order_by("pk")
    return stream(rows if scope.only is None else rows.filter(sorted_by=scope.only), DISAGREEMENT_COLUMNS)


def read_choices(scope: Scope) -> Iterator[Sequence[object]]:
    """Every choice of an annotator for a code, with those that came before."""
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
    "Why a machine and blind readers differ on a code for a sentence, as sorted by people.",
    row="a difference between a machine and blind readers, sorted",
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
