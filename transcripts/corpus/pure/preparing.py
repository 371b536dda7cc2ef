"""From what a reader read to what is stored: which sentences an interview holds. Knows nothing of Django."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from transcripts.corpus.pure.readers import ReadInterview, ReadTurn
from transcripts.corpus.pure.segmenting import segment

# Tool traffic is kept and shown whole: it is a record of a machine's call, and nobody codes its lines.
CHANNELS_WITH_SENTENCES = frozenset({"utterance", "reasoning"})


SentenceRow = tuple[int, int, int, str, str]
"""The position of a sentence, which counts from 1 over the whole interview, its start and end in the turn, its kind and
the hash of its text, as in ``models.Sentence``."""


def prepare_interview(read: ReadInterview) -> list[list[SentenceRow]]:
    """Cut every turn that people or models spoke (or reasoned) into sentences, in the order of the turns."""
    position = 0
    sentences = []
    for turn in read.turns:
        cut = list(cut_turn(turn, language=read.language, after=position))
        position += len(cut)
        sentences.append(cut)
    return sentences


def cut_turn(turn: ReadTurn, *, language: str, after: int) -> Iterator[SentenceRow]:
    """The sentences of one turn, numbered on from ``after``; none for tool traffic."""
    if turn.channel not in CHANNELS_WITH_SENTENCES:
        return
    text = turn.text
    for position, span in enumerate(segment(text, language), after + 1):
        quote = text[span.start : span.end]
        yield position, span.start, span.end, str(span.kind), hash_quote(quote)


def hash_quote(text: str) -> str:
    """The first 32 hex digits of the SHA-256 of a quoted text: enough to show that an offset has shifted."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
