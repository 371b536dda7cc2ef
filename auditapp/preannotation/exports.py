"""The export of machine work: apart from people's codings, with what became of each suggestion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import F
from django.db.models.functions import Substr

from auditapp.preannotation.models import Suggestion
from transcripts.exchange.registry import Export, Scope
from transcripts.projects.roles import Permission

COLUMNS = {
    "project": "annotator__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "turn": "sentence__turn__position",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "text": "quoted",
    "code_id": "code__identifier",
    "code": "code__name",
    "codebook_version": "code__version__number",
    "annotator": "annotator__name",
    "provider": "annotator__variant__account__provider",
    "model": "annotator__variant__model",
    "rationale": "rationale",
    "batch": "cell__batch_id",
    "attempt": "cell__result__attempt_id",
}


def read_suggestions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every suggestion of the study."""
    length = F("sentence__end") - F("sentence__start")
    quoted = Substr("sentence__turn__text", F("sentence__start") + 1, length)
    suggestions = Suggestion.objects.filter(annotator__project=scope.project).annotate(quoted=quoted)
    return suggestions.order_by("pk").values_list(*COLUMNS.values()).iterator(chunk_size=5_000)


SUGGESTIONS = Export(
    key="suggestions",
    name="Suggestions",
    sentence="What machines proposed, with the model, the batch and the paid call behind each row.",
    header=list(COLUMNS),
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_suggestions,
    meanings={
        "annotator": "The reading that proposed it: a model with its prompt and codebook version.",
        "provider": "Who runs the model; fake where answers are invented.",
        "model": "The model that was called.",
        "rationale": "The reason the model gave.",
        "batch": "Number of the batch.",
        "attempt": "Number of the paid call behind it.",
    },
)
