"""The active suggestions of an annotator: what critics check and audits sample."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db.models import QuerySet

from auditapp.preannotation.models import Annotator, Suggestion
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
