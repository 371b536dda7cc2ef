"""Which sentences a selection touches, and with which words. Knows nothing of Django."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple


class PlacedSentence(NamedTuple):
    """A sentence in the text of a source; ``shift`` is where its turn begins there, ``role`` whose turn it is."""

    start: int
    end: int
    id: int
    turn: int
    shift: int
    role: str = ""


Touch = tuple[PlacedSentence, tuple[int, int] | None]
"""A sentence that a selection touches, and its words counted in the turn's text; None for the whole sentence."""


class PlacedText:
    """A text with its sentences."""

    def __init__(self, text: str, sentences: Iterable[PlacedSentence]) -> None:
        self._text = text
        self._sentences = sorted(sentences, key=attrgetter("start"))
        self._starts = [sentence.start for sentence in self._sentences]
        self._first_of: dict[int, PlacedSentence] = {}
        for sentence in self._sentences:
            self._first_of.setdefault(sentence.turn, sentence)

    def touch(self, start: int, end: int) -> list[Touch]:
        """The sentences of which the characters from ``start`` to ``end`` hold more than white space, in order."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        found = []
        for sentence in self._sentences[first:]:
            if sentence.start >= end:
                break
            inside = self._trim(max(start, sentence.start), min(end, sentence.end))
            if inside is not None:
                whole = inside == (sentence.start, sentence.end)
                quote = None if whole else (inside[0] - sentence.shift, inside[1] - sentence.shift)
                found.append((sentence, quote))
        return found

    def find_firsts(self, touched: Iterable[Touch]) -> Iterator[Touch]:
        """The first sentence of every turn that is touched: it holds the codes of the whole turn."""
        for turn in dict.fromkeys(sentence.turn for sentence, _ in touched):
            yield self._first_of[turn], None

    @property
    def count(self) -> int:
        """How many sentences there are."""
        return len(self._sentences)

    @property
    def first(self) -> PlacedSentence | None:
        """The first sentence of the text."""
        return self._sentences[0] if self._sentences else None

    def _trim(self, start: int, end: int) -> tuple[int, int] | None:
        inside = self._text[start:end]
        if start >= end or not inside.strip():
            return None
        return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))
