"""Counts as charts: shares as bars, codes together as circles. Knows nothing of Django.

A bar has a filled part for semantic codings and a framed part for latent ones. Its count is printed at its end, so that
no reader has to rely on colour or length alone. Charts are dictionaries for a template; lengths are in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from transcripts.retrieval.pure.tables import Count, Heading

NAME_WIDTH = 190
MAX_BAR_WIDTH = 150
FIGURE_WIDTH = 78
ROW_HEIGHT = 22
TOP = 34
PANEL_GAP = 16
MAX_NAME_LENGTH = 28
BUBBLE_CELL = 30
MAX_RADIUS = 10.0
BUBBLES_TOP = 24


def draw_bars(headings: Sequence[Heading], groups: Sequence[tuple[str, Sequence[Count]]]) -> dict[str, object]:
    """One panel for each group, all on one scale that ends at the largest share."""
    highest = max((count.share for _, counts in groups for count in counts), default=0.0)
    panels = []
    for number, (group, counts) in enumerate(groups):
        x = NAME_WIDTH + number * (MAX_BAR_WIDTH + FIGURE_WIDTH + PANEL_GAP)
        pairs = enumerate(zip(headings, counts, strict=True))
        bars = [_draw_bar(heading, count, x, n, highest) for n, (heading, count) in pairs]
        panels.append({"x": x, "name": group, "bars": bars})
    return {
        "width": NAME_WIDTH + len(groups) * (MAX_BAR_WIDTH + FIGURE_WIDTH + PANEL_GAP),
        "height": TOP + ROW_HEIGHT * len(headings) + 6,
        "names": [
            {"y": _find_row_y(n), "text": shorten(each.name), "full": each.name} for n, each in enumerate(headings)
        ],
        "panels": panels,
        "highest_percent": f"{100 * highest:.1f}",
    }


def _draw_bar(heading: Heading, count: Count, x: int, number: int, highest: float) -> dict[str, object]:
    length = MAX_BAR_WIDTH * count.share / highest if highest else 0.0
    # A place with both a semantic and a latent coding counts as semantic here, so that the bar is as long as its share.
    semantic = min(length * count.semantic / count.places, length) if count.places else 0.0
    return {
        "x": x,
        "y": _find_row_y(number),
        "semantic": round(semantic, 1),
        "latent_x": round(x + semantic, 1),
        "latent": round(length - semantic, 1),
        "figure": f"{count.places:,}/{count.out_of:,}",
        "figure_x": round(x + length + 5, 1),
        "title": f"{heading.name}: {count.in_words}",
        "family": heading.family,
    }


def draw_bubbles(
    headings: Sequence[Heading], count: Callable[[int, int], tuple[int, int]], highest: int
) -> dict[str, object]:
    """A circle for every pair of codes that occurs; its area grows with the count, which is printed on it.

    Each pair appears once, in the lower half of the table of pairs. Columns are numbered as the rows are.
    """
    bubbles = []
    for n, one in enumerate(headings):
        for m, other in enumerate(headings[:n]):
            places, _ = count(n, m)
            if places:
                bubble = {
                    "x": NAME_WIDTH + BUBBLE_CELL * m + BUBBLE_CELL / 2,
                    "y": BUBBLES_TOP + BUBBLE_CELL * n + BUBBLE_CELL / 2,
                    "radius": round(MAX_RADIUS * sqrt(places / highest), 1),
                    "figure": f"{places:,}",
                    "title": f"{one.name} and {other.name}: {places:,}",
                }
                bubbles.append(bubble)
    numbers = [(n + 1, NAME_WIDTH + BUBBLE_CELL * n + BUBBLE_CELL // 2) for n in range(max(len(headings) - 1, 0))]
    return {
        "width": NAME_WIDTH + BUBBLE_CELL * len(numbers) + 8,
        "height": BUBBLES_TOP + BUBBLE_CELL * len(headings) + 6,
        "names": [
            {
                "y": BUBBLES_TOP + BUBBLE_CELL * n + BUBBLE_CELL // 2,
                "text": f"{n + 1} {shorten(each.name)}",
                "full": each.name,
            }
            for n, each in enumerate(headings)
        ],
        "numbers": numbers,
        "bubbles": bubbles,
    }


def _find_row_y(number: int) -> int:
    return TOP + ROW_HEIGHT * number


def shorten(name: str) -> str:
    """A name that fits beside its row; the full name is in the chart's title and in the table."""
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1].rstrip() + "…"
