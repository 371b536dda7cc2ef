"""Texts with Windows line ends, written with plain ones: many programs count a line end as one character."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

WINDOWS, PLAIN = "\r\n", "\n"


class Folded(NamedTuple):
    """A text in which each line end is one character. ``places`` are those that were two, counted in this text."""

    text: str
    places: list[int]

    def find(self, place: int) -> int:
        """Where a place of the text as it was is in this one. Between the two characters of a line end is before it."""
        # Each of the line ends before it has lost a character.
        lost = bisect_left(range(len(self.places)), place, key=lambda number: self.places[number] + number)
        return place - lost


def fold(text: str) -> Folded:
    """The text with plain line ends."""
    lines = text.split(WINDOWS)
    places, length = [], 0
    for line in lines[:-1]:
        places.append(length + len(line))
        length += len(line) + 1
    return Folded(PLAIN.join(lines), places)


def unfold(text: str, places: Sequence[int]) -> str | None:
    """The text as it was; ``None`` where there is no line end at one of the places."""
    pieces, before = [], 0
    for place in places:
        if not before <= place < len(text) or text[place] != PLAIN:
            return None
        pieces += [text[before:place], WINDOWS]
        before = place + 1
    return "".join([*pieces, text[before:]])


def find_unfolded(place: int, places: Sequence[int]) -> int:
    """Where a place of the folded text is in the text as it was."""
    return place + bisect_left(places, place)
