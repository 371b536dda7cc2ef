"""Boundary edits: where a sentence may be split, what becomes of quotes when sentences are split or merged, and in which sentence
the words of a former one lie now.

Everything counts code points of the turn's text. An answer about former sentences and its suggestions stay as they were stored.
Whether a current sentence contains the words of a suggestion, and whether an answer spoke of all its words, follows from where old
and new sentences lie.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

MAX_SUFFIX_LENGTH = 20

_ZERO_WIDTH_JOINER = "\u200d"
# Signs that belong to the character before them, besides marks: joiners, skin tones, half-width voicing, tags of flags.
_EXTENDING = frozenset("\u200c\u200d\uff9e\uff9f") | {chr(point) for point in range(0x1F3FB, 0x1F400)}
_TAGS = range(0xE0020, 0xE0080)
# Arabic and Syriac signs that are drawn around what follows them.
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_REGIONAL = range(0x1F1E6, 0x1F200)
_VIRAMA = 9
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs", "Mn", "Me", "Mc"})


class BoundaryEditRefused(Exception):
    """This boundary edit is not possible; the message says why."""


class Extent(NamedTuple):
    """``text[start:end]`` of a turn."""

    start: int
    end: int


def split_extent(text: str, whole: Extent, at: int) -> tuple[Extent, Extent]:
    """The two pieces of a sentence that is split at ``at``; white space between them belongs to neither.

    Raises ``BoundaryEditRefused`` at an edge and inside a character.
    """
    if not whole.start < at < whole.end:
        raise BoundaryEditRefused("This is the edge of the sentence. Split it between two of its words.")
    pieces = first, second = _trim(text, whole.start, at), _trim(text, at, whole.end)
    if not all(is_visible(text[piece.start : piece.end]) for piece in pieces):
        raise BoundaryEditRefused("This is the edge of the sentence: one of the two parts would have no visible text.")
    if is_inside_character(text, at) or is_inside_character(text, second.start):
        raise BoundaryEditRefused("This place lies inside a combined character. Choose a place before or after it.")
    return first, second


def is_visible(text: str) -> bool:
    """Whether ``text`` has visible content: more than white space, joiners and marks."""
    return any(unicodedata.category(character) not in _UNSEEN for character in text)


def is_inside_character(text: str, at: int) -> bool:
    """Whether ``text[at]`` belongs to the same visible character as ``text[at - 1]``.

    These are the rules of Unicode's Standard Annex 29 for extended grapheme clusters. Where they depend on what is an emoji,
    this is cautious: nothing is split next to a joiner.
    """
    before, after = text[at - 1 : at], text[at : at + 1]
    if not before or not after:
        return False
    return (
        (before == "\r" and after == "\n")
        or after in _EXTENDING
        or ord(after) in _TAGS
        or unicodedata.category(after).startswith("M")
        or before in _PREPENDED
        or (before == _ZERO_WIDTH_JOINER and not after.isspace())
        or (unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo")
        or _is_inside_syllable(before, after)
        or _is_inside_flag(text, at)
    )


def _is_inside_syllable(before: str, after: str) -> bool:
    """Whether two Korean letters are parts of one syllable."""
    kinds = _syllable_kind(before), _syllable_kind(after)
    return (kinds[0] == "L" and kinds[1] in {"L", "V", "LV", "LVT"}) or (
        kinds in {("V", "V"), ("V", "T"), ("LV", "V"), ("LV", "T"), ("LVT", "T"), ("T", "T")}
    )


def _syllable_kind(character: str) -> str:
    point = ord(character)
    if 0x1100 <= point <= 0x115F or 0xA960 <= point <= 0xA97C:
        return "L"
    if 0x1160 <= point <= 0x11A7 or 0xD7B0 <= point <= 0xD7C6:
        return "V"
    if 0x11A8 <= point <= 0x11FF or 0xD7CB <= point <= 0xD7FB:
        return "T"
    if 0xAC00 <= point <= 0xD7A3:
        return "LVT" if (point - 0xAC00) % 28 else "LV"
    return ""


def _is_inside_flag(text: str, at: int) -> bool:
    """Whether two letters of a flag would be separated: letters are paired from the beginning of their sequence."""
    if ord(text[at]) not in _REGIONAL:
        return False
    begin = at
    while begin and ord(text[begin - 1]) in _REGIONAL:
        begin -= 1
    return (at - begin) % 2 == 1


def _trim(text: str, start: int, end: int) -> Extent:
    inside = text[start:end]
    return Extent(start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip()))


def name_pieces(suffix: str, taken: Collection[str]) -> tuple[str, str]:
    """The suffixes of the two pieces of a sentence: 14 gives 14a and 14b, 14a gives 14aa and 14ab.

    Those in ``taken`` are skipped. Raises ``BoundaryEditRefused`` if they would be too long to read.
    """
    letters = "abcdefghijklmnopqrstuvwxyz"
    free = [suffix + letter for letter in letters if suffix + letter not in taken]
    if len(suffix) >= MAX_SUFFIX_LENGTH or len(free) < 2:
        raise BoundaryEditRefused(
            "This sentence has been split so often that its parts can no longer be numbered. Merge them, and first split in the "
            "middle."
        )
    return free[0], free[1]


def share_quote(quote: Extent, piece: Extent) -> Extent | None:
    """The part of a quote that is in a piece of its sentence; ``None`` if there is none."""
    start, end = max(quote.start, piece.start), min(quote.end, piece.end)
    return Extent(start, end) if start < end else None


def merge_quotes(quotes: Iterable[Extent], gap: Extent) -> Extent | None:
    """Join the quotes on both sides of a removed boundary: ``None`` (the whole sentence) unless they touch.

    ``gap`` is the text between the two sentences; quotes touch if only the gap separates them.
    """
    ordered = sorted(quotes)
    whole = ordered[0]
    for quote in ordered[1:]:
        touches = quote.start <= whole.end or (whole.end == gap.start and quote.start == gap.end)
        if not touches:
            return None
        whole = Extent(whole.start, max(whole.end, quote.end))
    return whole


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
