"""Exports of what people said of annotators: marks of audits, sorted disagreements, and whom they believe per code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditapp.preannotation.exports import OF_ANNOTATORS, make_export, read_columns
from auditapp.preannotation.models import CodeChoice, Disagreement, PositiveMark
from transcripts.exchange.registry import Scope

AUDITED = "item__suggestion__"
MARK_COLUMNS = {
    "project": "item__audit__annotator__project__slug",
    "interview": AUDITED + "sentence__turn__interview__external_id",
    "turn": AUDITED + "sentence__turn__position",
    "sentence_id": AUDITED + "sentence_id",
    "sentence": AUDITED + "sentence__position",
    "code_id": AUDITED + "code__identifier",
    "annotator": "item__audit__annotator__name",
    "annotator_number": "item__audit__annotator__number",
    "suggestion_id": "item__suggestion_id",
    "audit": "item__audit_id",
    "with_critic": "item__audit__with_critic",
    "per_code": "item__audit__per_code",
    "seed": "item__audit__seed",
    "place": "item__place",
    "population": "item__population",
    "reader": "reader__username",
    "verdict": "verdict",
    "note": "note",
    "marked": "marked_at",
    "mark_id": "pk",
    "superseded_by": "superseded_by_id",
}
DISAGREEMENT_COLUMNS = {
    "project": "annotator__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "turn": "sentence__turn__position",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "code_id": "code_identifier",
    "annotator": "annotator__name",
    "annotator_number": "annotator__number",
    "category": "category",
    "note": "note",
    "sorted": "sorted_at",
    "sorted_by": "sorted_by__username",
    "disagreement_id": "pk",
    "superseded_by": "superseded_by_id",
}
CHOICE_COLUMNS = {
    "project": "project__slug",
    "code_id": "code_identifier",
    "annotator": "annotator__name",
    "annotator_number": "annotator__number",
    "with_critic": "with_critic",
    "reason": "reason",
    "chosen": "chosen_at",
    "chosen_by": "chosen_by_name",
    "superseded": "superseded_at",
}


def read_marks(scope: Scope) -> Iterator[Sequence[object]]:
    """Every mark of every audit, those that were thought over too."""
    marks = PositiveMark.objects.filter(item__audit__annotator__project=scope.project).order_by("pk")
    return read_columns(marks if scope.only is None else marks.filter(reader=scope.only), MARK_COLUMNS)


def read_disagreements(scope: Scope) -> Iterator[Sequence[object]]:
    """Every sorted disagreement of a machine with blind readers."""
    rows = Disagreement.objects.filter(annotator__project=scope.project).order_by("pk")
    return read_columns(rows if scope.only is None else rows.filter(sorted_by=scope.only), DISAGREEMENT_COLUMNS)


def read_choices(scope: Scope) -> Iterator[Sequence[object]]:
    """Every choice of an annotator for a code, with those that came before."""
    return read_columns(CodeChoice.objects.filter(project=scope.project).order_by("pk"), CHOICE_COLUMNS)


POSITIVE_MARKS = make_export(
    "positive_marks",
    "Audits of positives",
    "What people said of each audited suggestion: whether its code applies.",
    columns=MARK_COLUMNS,
    read_rows=read_marks,
    opens_codings=True,
    meanings={
        **OF_ANNOTATORS,
        "audit": "Number of the audit.",
        "with_critic": "true where only what no critic reversed was drawn.",
        "per_code": "How many of each code were to be drawn.",
        "seed": "Number by which the sample can be drawn again.",
        "place": "Shuffled place in the audit, from 1.",
        "population": "How many suggestions of this code there were to draw from.",
        "reader": "User name of whoever marked it.",
        "verdict": "applies, does_not, or unclear.",
        "note": "What the reader wrote to it.",
        "marked": "When, in UTC.",
        "mark_id": "Number of the mark.",
    },
)
DISAGREEMENTS = make_export(
    "machine_disagreements",
    "Disagreements with machines, sorted",
    "Why a machine and blind readers differ on a code of a sentence, as people sorted it.",
    columns=DISAGREEMENT_COLUMNS,
    read_rows=read_disagreements,
    opens_codings=True,
    meanings={
        **OF_ANNOTATORS,
        "category": "misreading, meta (talk about the thing), context, definition, alternative (no error of anybody) or slip.",
        "note": "What was written to it.",
        "sorted": "When, in UTC.",
        "sorted_by": "User name of whoever sorted it.",
        "disagreement_id": "Number of the row.",
    },
)
CODE_CHOICES = make_export(
    "code_choices",
    "Annotators chosen per code",
    "Which annotator is believed for a code, and why.",
    columns=CHOICE_COLUMNS,
    read_rows=read_choices,
    meanings={
        **OF_ANNOTATORS,
        "annotator": "Who is believed; empty where the code is left to people.",
        "with_critic": "true where what a critic reversed is left out.",
        "chosen": "When, in UTC.",
        "chosen_by": "Who chose.",
        "superseded": "Until when it held; empty while it holds.",
    },
)
EXPORTS = (POSITIVE_MARKS, DISAGREEMENTS, CODE_CHOICES)
