"""The active suggestions of an annotator: what critics check and audits sample, and what the marks of an audit show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from django.db.models import QuerySet

from auditapp.preannotation.evaluation.pure.auditing import Mark, build_report
from auditapp.preannotation.models import Annotator, PositiveAudit, PositiveMark, Suggestion
from auditapp.preannotation.suggestions.queries.boundary_edits import map_moved
from transcripts.codebook.models import Code


class Positive(NamedTuple):
    """An active suggestion, with its current place. ``code`` is an identifier."""

    suggestion: int
    sentence: int
    turn: int
    interview: int
    code: str


def list_positives(
    annotator: Annotator, *, codes: Collection[str] | None = None, with_critic: bool = False
) -> list[Positive]:
    """Of each sentence and code that the annotator's latest reading says yes to, the latest suggestion, in its order.

    ``with_critic`` leaves out what a critic reversed.
    """
    # Loads numpy.
    from auditapp.preannotation.annotators.queries.machine_labels import read_machine_labels

    said = read_machine_labels(annotator, with_critic=with_critic)
    current = {
        (code, int(sentence))
        for code, row in zip(said.codes, said.labels, strict=True)
        if codes is None or code in codes
        for sentence in said.sentence_ids[row]
    }
    rows = Suggestion.objects.filter(annotator=annotator).order_by("pk")
    columns = ("pk", "sentence_id", "sentence__turn_id", "sentence__turn__interview_id", "code__identifier")
    latest: dict[tuple[str, int], Positive] = {}
    moved = map_moved(rows)
    for row in rows.values_list(*columns).iterator(chunk_size=5_000):
        found = Positive(*row)
        found = found._replace(sentence=moved.get(found.suggestion, found.sentence) or found.sentence)
        if (found.code, found.sentence) in current:
            latest[found.code, found.sentence] = found
    return sorted(latest.values())


def list_suggested_codes(annotators: QuerySet[Annotator]) -> list[tuple[str, str]]:
    """The identifiers and names of the codes that these annotators ever suggested, in the codebook's order."""
    rows = Code.objects.filter(suggestions__annotator__in=annotators).order_by("family__position", "position", "pk")
    found: dict[str, str] = {}
    for identifier, name in rows.values_list("identifier", "name").distinct():
        found.setdefault(identifier, name)
    return list(found.items())


def map_items(audit: PositiveAudit) -> dict[int, str]:
    """The code of each item of the sample, code by code in the order of the codebook."""
    rows = audit.items.order_by("suggestion__code__family__position", "suggestion__code__position", "position")
    return dict(rows.values_list("pk", "suggestion__code__identifier"))


def list_active_marks(audit: PositiveAudit) -> list[Mark]:
    """The latest mark of each reviewer and item."""
    rows = PositiveMark.objects.filter(item__audit=audit).active().order_by("pk")
    return [Mark(*row) for row in rows.values_list("item", "reviewer__username", "verdict")]


def read_report(audit: PositiveAudit) -> dict[str, Any]:
    """The results of an audit; ``second_thoughts`` are corrections, ``late`` first marks made after opening the results."""
    marks = PositiveMark.objects.filter(item__audit=audit).order_by("pk")
    first = marks.filter(number=1)
    blind_first = [Mark(*row) for row in first.blind().values_list("item", "reviewer__username", "verdict")]
    populations = dict(audit.items.values_list("suggestion__code__identifier", "population").order_by("pk"))
    return {
        **build_report(map_items(audit), list_active_marks(audit), blind_first, populations),
        "second_thoughts": marks.filter(number__gt=1).count(),
        "late": first.filter(after_opening=True).count(),
    }


def list_interviews(audit: PositiveAudit) -> set[int]:
    """The interviews of the sample."""
    return set(audit.items.values_list("suggestion__sentence__turn__interview_id", flat=True))
