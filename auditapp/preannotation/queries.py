"""Reads of machine work: what was suggested for a sentence, what became of it, how answers were understood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, Sum

from auditapp.batches.models import Batch
from auditapp.preannotation.models import Reading, Response, Suggestion
from transcripts.accounts.models import User
from transcripts.corpus.models import Sentence


class Offer(NamedTuple):
    """A suggestion beside what this person made of it (``None``: nothing yet)."""

    suggestion: Suggestion
    response: Response | None


class MachineWord(NamedTuple):
    """Whether machines read a sentence at all, and what they proposed, in shuffled order."""

    readers: int
    offers: list[Offer]


def read_offers(sentence: Sentence, coder: User) -> MachineWord:
    """The suggestions for ``sentence`` as ``coder`` may see them after her own decision."""
    suggestions = (
        Suggestion.objects.filter(sentence=sentence)
        .select_related("code__family", "annotator__variant__account", "annotator__version", "sentence__turn")
        .order_by("annotator_id", "place", "pk")
    )
    responses = {
        response.suggestion_id: response
        for response in Response.objects.filter(suggestion__sentence=sentence, coder=coder, superseded_at__isnull=True)
    }
    readers = Reading.objects.filter(cell__input_id=sentence.turn_id, cell__batch__kind="preannotation").exclude(
        outcome=Reading.Outcome.INVALID
    )
    return MachineWord(
        readers=readers.values("annotator").distinct().count(),
        offers=[Offer(suggestion, responses.get(suggestion.pk)) for suggestion in suggestions],
    )


def count_readings(batch: Batch) -> dict[str, int]:
    """Suggestions made and items rejected in a batch."""
    readings: Sequence[Reading] = list(Reading.objects.filter(cell__batch=batch).only("rejected"))
    found = Reading.objects.filter(cell__batch=batch).aggregate(accepted=Sum("accepted"), n=Count("pk"))
    return {
        "readings": found["n"],
        "suggestions": found["accepted"] or 0,
        "rejected_items": sum(len(reading.rejected) for reading in readings),
    }
