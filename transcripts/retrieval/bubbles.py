"""Codes together as a picture: the larger the circle, the more places bear both. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

from transcripts.retrieval.bars import NAMES, Name, shorten
from transcripts.retrieval.tables import Heading, Pair

COLUMN = 30
LARGEST = 10.0
TOP = 24


class Bubble(NamedTuple):
    """Two codes that stand together somewhere; the figure is printed beside the circle's middle."""

    x: float
    y: float
    radius: float
    figure: str
    title: str


class BubbleChart(NamedTuple):
    """Half of the table of pairs, for each pair once. Columns are numbered; the numbers stand before the names."""

    width: int
    height: int
    names: list[Name]
    numbers: list[tuple[int, int]]
    bubbles: list[Bubble]


def draw_bubbles(headings: Sequence[Heading], count: Callable[[int, int], Pair], highest: int) -> BubbleChart:
    """A circle for every pair that occurs; its area grows with the count."""
    names = [
        Name(TOP + COLUMN * n + COLUMN // 2, f"{n + 1} {shorten(each.name)}", each.name)
        for n, each in enumerate(headings)
    ]
    bubbles = []
    for n, one in enumerate(headings):
        for m, other in enumerate(headings[:n]):
            places = count(n, m).places
            if places:
                x, y = NAMES + COLUMN * m + COLUMN / 2, TOP + COLUMN * n + COLUMN / 2
                radius = round(LARGEST * sqrt(places / highest), 1)
                bubbles.append(Bubble(x, y, radius, f"{places:,}", f"{one.name} and {other.name}: {places:,}"))
    numbers = [(n + 1, NAMES + COLUMN * n + COLUMN // 2) for n in range(max(len(headings) - 1, 0))]
    return BubbleChart(NAMES + COLUMN * len(numbers) + 8, TOP + COLUMN * len(headings) + 6, names, numbers, bubbles)
