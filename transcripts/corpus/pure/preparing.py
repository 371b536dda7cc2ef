"""From what a reader read to what is stored: which sentences an interview holds. Knows nothing of Django."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from transcripts.corpus.pure.readers import ReadInterview, ReadTurn
from transcripts.corpus.pure.segmenting import segment

# What a tool is given, and what it gives back, is one unit each: a call is an act that people code, a result is cited.
TOOL_KINDS = {"tool_call": "call", "tool_result": "result"}


SentenceRow = tuple[int, int, int, str, str]
"""The position of a sentence, which counts from 1 over the whole interview, its start and end in the turn, its kind and
the hash of its text, as in ``models.Sentence``."""


def prepare_interview(read: ReadInterview) -> list[list[SentenceRow]]:
    """Cut every turn into sentences, in the order of the turns."""
    position = 0
    sentences = []
    for turn in read.turns:
        cut = list(cut_turn(turn, language=read.language, after=position))
        position += len(cut)
        sentences.append(cut)
    return sentences


def cut_turn(turn: ReadTurn, *, language: str, after: int) -> Iterator[SentenceRow]:
    """The sentences of one turn, numbered on from ``after``; a call or a result of a tool is one."""
    text = turn.text
    if turn.channel in TOOL_KINDS:
        if words := text.strip():
            start = len(text) - len(text.lstrip())
            yield after + 1, start, start + len(words), TOOL_KINDS[turn.channel], hash_quote(words)
        return
    for position, span in enumerate(segment(text, language), after + 1):
        quote = text[span.start : span.end]
        yield position, span.start, span.end, str(span.kind), hash_quote(quote)


def is_answer(turn: ReadTurn, *, kind: str) -> bool:
    """Whether coders decide on a turn of a thread of this ``kind``: what models say, and in trajectories their calls."""
    return turn.role == "model" and (
        turn.channel == "utterance" or (turn.channel == "tool_call" and kind == "trajectory")
    )


def hash_quote(text: str) -> str:
    """The first 32 hex digits of the SHA-256 of a quoted text: enough to show that an offset has shifted."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
