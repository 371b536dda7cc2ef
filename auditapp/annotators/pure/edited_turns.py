"""Where suggestions for old sentences belong after boundary edits. Plain Python: places in a turn's text.

An answer and its suggestions stay as they were stored. Whether a current sentence contains the words of a suggestion, and
whether an answer spoke of all its words, follows from where old and new sentences lie.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from transcripts.corpus.pure.boundaries import Extent


class EditedSentence(NamedTuple):
    """A sentence of a turn, current or not. ``made_by``, ``retired_by``: numbers of corrections, if any."""

    pk: int
    start: int
    end: int
    made_by: int | None
    retired_by: int | None

    @property
    def extent(self) -> Extent:
        return Extent(self.start, self.end)


class EditedTurn:
    """A turn with boundary edits: every sentence it has and had."""

    def __init__(self, sentences: Iterable[EditedSentence]) -> None:
        self.sentences = {each.pk: each for each in sentences}
        rows = sorted(self.sentences.values(), key=lambda each: each.extent)
        self.current = [each for each in rows if each.retired_by is None]

    @property
    def made(self) -> list[EditedSentence]:
        """The current sentences that boundary edits made."""
        return [each for each in self.current if each.made_by is not None]

    def find_place(self, words: Extent) -> int | None:
        """The one current sentence that contains all these words; ``None`` where they lie in several, or outside."""
        found = (each for each in self.current if each.start <= words.start and words.end <= each.end)
        return next((each.pk for each in found), None)

    def list_touched(self, words: Extent) -> list[int]:
        """The current sentences that hold any of these words, in the order of the text."""
        return [each.pk for each in self.current if each.start < words.end and words.start < each.end]

    def list_earlier(self, pk: int) -> list[int]:
        """The retired sentences that held words of this one."""
        start, end = self.sentences[pk].extent
        rows = self.sentences.values()
        return [each.pk for each in rows if each.retired_by is not None and each.start < end and start < each.end]

    def is_covered(self, pk: int, answered: Iterable[int]) -> bool:
        """Whether every word of the sentence was in one of the ``answered``, which may be retired."""
        known = [self.sentences[each].extent for each in answered if each in self.sentences]
        return not _take_away(self._find_words(pk), known)

    def is_met(self, pk: int, answered: Iterable[int]) -> bool:
        """Whether any word of the sentence was."""
        known = [self.sentences[each].extent for each in answered if each in self.sentences]
        words = self._find_words(pk)
        return _take_away(words, known) != words

    def _find_words(self, pk: int) -> list[Extent]:
        """What of a sentence can be said of it: without what belongs to no sentence, as blanks and the signs of lists."""
        start, end = self.sentences[pk].extent
        clipped = (Extent(max(start, each.start), min(end, each.end)) for each in self._said)
        return [each for each in clipped if each.start < each.end]

    @cached_property
    def _said(self) -> list[Extent]:
        """What belonged to a sentence at import, without the blanks at which one was cut in two."""
        imported = [each.extent for each in self.sentences.values() if each.made_by is None]
        pieces: dict[int, list[Extent]] = {}
        for each in self.sentences.values():
            if each.made_by is not None:
                pieces.setdefault(each.made_by, []).append(each.extent)
        gaps = [Extent(one.end, two.start) for both in pieces.values() for one, two in pairwise(sorted(both))]
        return _take_away(sorted(imported), gaps)


def _take_away(extents: Sequence[Extent], taken: Collection[Extent]) -> list[Extent]:
    """What is left of ``extents`` outside those that are taken, in their order."""
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
