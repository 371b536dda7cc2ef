"""The sentences that scores rest on, as the texts are cut now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from transcripts.coding.links import find_place_now
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.negotiation.models import ScoreEvidence


class Evidence(NamedTuple):
    """A sentence that a score rests on. ``quote``: words in it, from and to, in code points of the turn's text."""

    sentence: Sentence
    quote: tuple[int, int] | None = None


def follow(evidence: Evidence) -> Evidence:
    """Where it lies now, if its sentence was split or merged: in the piece with the quote, else in the first piece."""
    if evidence.sentence.retired_by_id is None:
        return evidence
    quote = Extent(*evidence.quote) if evidence.quote else None
    sentence, quote = find_place_now(evidence.sentence, quote)
    sentence.turn = evidence.sentence.turn
    return Evidence(sentence, (quote.start, quote.end) if quote else None)


def read_followed(rows: Iterable[ScoreEvidence]) -> list[Evidence]:
    """Rows of a score, with their sentences and turns, where they lie now: each sentence once."""
    return join([follow(Evidence(row.sentence, row.quote)) for row in rows])


def join(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Each sentence once: with one quote that holds all that is quoted in it, or whole where one is of the whole."""
    found: dict[int, Evidence] = {}
    for each in evidence:
        other = found.get(each.sentence.pk)
        if other is None:
            found[each.sentence.pk] = each
        elif other.quote is not None and each.quote is not None:
            quote = min(other.quote[0], each.quote[0]), max(other.quote[1], each.quote[1])
            whole = (each.sentence.start, each.sentence.end)
            found[each.sentence.pk] = Evidence(each.sentence, None if quote == whole else quote)
        else:
            found[each.sentence.pk] = Evidence(each.sentence)
    return list(found.values())
