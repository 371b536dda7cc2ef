"""Where suggestions for old sentences belong after boundary edits. Plain Python that works on positions in a turn's text.

An answer and its suggestions stay as they were stored. The positions of old and new sentences show whether a current sentence
contains the words of a suggestion, and whether an answer covered all of its words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from transcripts.corpus.pure.boundaries import Extent


class EditedSentence(NamedTuple):
    """A sentence of a turn, current or retired. ``made_by``, ``retired_by``: numbers of the boundary edits, if any."""

    pk: int
    start: int
    end: int
    made_by: int | None
    retired_by: int | None

    @property
    def extent(self) -> Extent:
        return Extent(self.start, self.end)


class EditedTurn:
    """A turn with boundary edits: all of its sentences, current and retired."""

    def __init__(self, sentences: Iterable[EditedSentence]) -> None:
        self.sentences = {each.pk: each for each in sentences}
        rows = sorted(self.sentences.values(), key=lambda each: each.extent)
        self.current = [each for each in rows if each.retired_by is None]

    @property
    def made(self) -> list[EditedSentence]:
        """The current sentences that were made by boundary edits."""
        return [each for each in self.current if each.made_by is not None]

    def find_place(self, words: Extent) -> int | None:
        """The one current sentence that contains all of these words; ``None`` if they are in several sentences, or in none."""
        found = (each for each in self.current if each.start <= words.start and words.end <= each.end)
        return next((each.pk for each in found), None)

    def list_touched(self, words: Extent) -> list[int]:
        """The current sentences that contain any of these words, in the order of the text."""
        return [each.pk for each in self.current if each.start < words.end and words.start < each.end]

    def list_earlier(self, pk: int) -> list[int]:
        """The retired sentences that contained words of this one."""
        start, end = self.sentences[pk].extent
        rows = self.sentences.values()
        return [each.pk for each in rows if each.retired_by is not None and each.start < end and start < each.end]

    def is_covered(self, pk: int, answered: Iterable[int]) -> bool:
        """Whether every word of the sentence was in one of the ``answered`` sentences, which may be retired."""
        known = [self.sentences[each].extent for each in answered if each in self.sentences]
        return not _take_away(self._find_words(pk), known)

    def is_met(self, pk: int, answered: Iterable[int]) -> bool:
        """Whether any word of the sentence was in one of the ``answered`` sentences."""
        known = [self.sentences[each].extent for each in answered if each in self.sentences]
        words = self._find_words(pk)
        return _take_away(words, known) != words

    def _find_words(self, pk: int) -> list[Extent]:
        """The part of a sentence that counts, without characters that belong to no sentence, such as spaces and list marks."""
        start, end = self.sentences[pk].extent
        clipped = (Extent(max(start, each.start), min(end, each.end)) for each in self._said)
        return [each for each in clipped if each.start < each.end]

    @cached_property
    def _said(self) -> list[Extent]:
        """The part that belonged to a sentence at import, without the spaces at which a sentence was split."""
        imported = [each.extent for each in self.sentences.values() if each.made_by is None]
        pieces: dict[int, list[Extent]] = {}
        for each in self.sentences.values():
            if each.made_by is not None:
                pieces.setdefault(each.made_by, []).append(each.extent)
        gaps = [Extent(one.end, two.start) for both in pieces.values() for one, two in pairwise(sorted(both))]
        return _take_away(sorted(imported), gaps)


def _take_away(extents: Sequence[Extent], taken: Collection[Extent]) -> list[Extent]:
    """The parts of ``extents`` that are not taken, in order."""
    left = list(extents)
    for start, end in taken:
        rest: list[Extent] = []
        for each in left:
            if each.end <= start or end <= each.start:
                rest.append(each)
                continue
            rest += [part for part in (Extent(each.start, start), Extent(end, each.end)) if part.start < part.end]
        left = rest
    return left
