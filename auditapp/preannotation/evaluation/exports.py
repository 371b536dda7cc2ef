"""Exports of what people said of annotators: marks of audits, sorted disagreements, and the annotators chosen per code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditapp.preannotation.models import CodeChoice, Disagreement, PositiveMark
from auditapp.preannotation.suggestions.exports import SUGGESTION_NUMBER, make_export, of_annotator
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import Column, column, stream

AUDITED = "item__suggestion__"
MARK_COLUMNS = [
    column("project", "item__audit__annotator__project__slug"),
    column("interview", AUDITED + "sentence__turn__interview__external_id"),
    column("turn", AUDITED + "sentence__turn__position"),
    column("sentence_id", AUDITED + "sentence_id"),
    column("sentence", AUDITED + "sentence__position"),
    column("code_id", AUDITED + "code__identifier"),
    *of_annotator("item__audit__annotator__"),
    Column("suggestion_id", "item__suggestion_id", SUGGESTION_NUMBER),
    column("audit", "item__audit_id", "Number of the audit."),
    column("with_critic", "item__audit__with_critic", "true where only what no critic reversed was drawn."),
    column("per_code", "item__audit__per_code", "How many of each code were to be drawn."),
    column("seed", "item__audit__seed", "Number by which the sample can be drawn again."),
    column("place", "item__position", "Shuffled place in the audit, from 1."),
    column("population", "item__population", "How many suggestions of this code there were to draw from."),
    column("reader", "reviewer__username", "User name of the person who marked it."),
    column("verdict", "verdict", "applies, does_not, or unclear."),
    column("note", "note", "The note of the person who marked it."),
    column("marked", "made_at", "When, in UTC."),
    column("mark_id", "pk", "Number of the mark."),
    column("superseded_by", "superseded_by_id"),
]
DISAGREEMENT_COLUMNS = [
    column("project", "annotator__project__slug"),
    column("interview", "sentence__turn__interview__external_id"),
    column("turn", "sentence__turn__position"),
    column("sentence_id", "sentence_id"),
    column("sentence", "sentence__position"),
    column("code_id", "code_identifier"),
    *of_annotator("annotator__"),
    column(
        "category",
        "category",
        "misreading, meta (talk about the thing), context, definition, alternative (no error of anybody) or slip.",
    ),
    column("note", "note", "What was written to it."),
    column("sorted", "sorted_at", "When, in UTC."),
    column("sorted_by", "sorted_by__username", "User name of the person who sorted it."),
    column("disagreement_id", "pk", "Number of the row."),
    column("superseded_by", "superseded_by_id"),
]
CHOICE_COLUMNS = [
    column("project", "project__slug"),
    column("code_id", "code_identifier"),
    column(
        "annotator", "annotator__name", "Which annotator is trusted for the code; empty where it is left to people."
    ),
    of_annotator("annotator__")[1],
    column("with_critic", "with_critic", "true where what a critic reversed is left out."),
    column("reason", "reason"),
    column("chosen", "chosen_at", "When, in UTC."),
    column("chosen_by", "chosen_by_name", "Who chose."),
    column("superseded", "superseded_at", "Until when it held; empty while it holds."),
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
    return stream(CodeChoice.objects.filter(project=scope.project).order_by("pk"), CHOICE_COLUMNS)


POSITIVE_MARKS = make_export(
    "positive_marks",
    "Audits of positives",
    "What people said of each audited suggestion: whether its code applies.",
    row="a person's word on an audited suggestion",
    columns=MARK_COLUMNS,
    read_rows=read_marks,
    unblinds=True,
)
DISAGREEMENTS = make_export(
    "machine_disagreements",
    "Disagreements with machines, sorted",
    "Why a machine and blind readers differ on a code of a sentence, as people sorted it.",
    row="a difference between a machine and blind readers, sorted",
    columns=DISAGREEMENT_COLUMNS,
    read_rows=read_disagreements,
    unblinds=True,
)
CODE_CHOICES = make_export(
    "code_choices",
    "Annotators chosen per code",
    "Which annotator is chosen for a code, and why.",
    row="a choice of an annotator for a code",
    columns=CHOICE_COLUMNS,
    read_rows=read_choices,
    is_narrowed=False,
)
EXPORTS = (POSITIVE_MARKS, DISAGREEMENTS, CODE_CHOICES)
