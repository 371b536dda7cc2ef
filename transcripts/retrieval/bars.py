"""Where the bars of a picture of counts go: one panel for each group, one bar for each code. Knows nothing of Django.

A bar has a filled part for places read semantically and a framed part for the rest; its figure is printed at its end, so
that neither colour nor length has to be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from transcripts.retrieval.tables import Count, Heading

NAMES = 190
LONGEST_BAR = 150
FIGURES = 78
ROW = 22
TOP = 34
PANEL_GAP = 16
LONGEST_NAME = 28


class Bar(NamedTuple):
    """One code in one panel: from ``x`` on the semantic part, from ``latent_x`` on the latent one."""

    x: int
    y: int
    semantic: float
    latent_x: float
    latent: float
    figure: str
    figure_x: float
    title: str
    family: str


class Panel(NamedTuple):
    """The bars of one group, under its name."""

    x: int
    name: str
    bars: list[Bar]


class Name(NamedTuple):
    """A code's name beside its bars, shortened where it is long."""

    y: int
    text: str
    full: str


class BarChart(NamedTuple):
    """The picture; lengths are in its own units, which are pixels."""

    width: int
    height: int
    names: list[Name]
    panels: list[Panel]
    highest_percent: str


def draw_bars(headings: Sequence[Heading], groups: Sequence[tuple[str, Sequence[Count]]]) -> BarChart:
    """One panel for each group, all on one scale, which ends at the largest share."""
    highest = max((count.share for _, counts in groups for count in counts), default=0.0)
    names = [Name(_row(n), shorten(each.name), each.name) for n, each in enumerate(headings)]
    panels = []
    for number, (group, counts) in enumerate(groups):
        x = NAMES + number * (LONGEST_BAR + FIGURES + PANEL_GAP)
        pairs = enumerate(zip(headings, counts, strict=True))
        panels.append(Panel(x, group, [_draw_bar(heading, count, x, n, highest) for n, (heading, count) in pairs]))
    width = NAMES + len(groups) * (LONGEST_BAR + FIGURES + PANEL_GAP)
    return BarChart(width, TOP + ROW * len(headings) + 6, names, panels, f"{100 * highest:.1f}")


def _draw_bar(heading: Heading, count: Count, x: int, number: int, highest: float) -> Bar:
    length = LONGEST_BAR * count.share / highest if highest else 0.0
    # A place that was read both ways counts as semantic here, so that the bar is as long as its share.
    semantic = min(length * count.semantic / count.places, length) if count.places else 0.0
    return Bar(
        x=x,
        y=_row(number),
        semantic=round(semantic, 1),
        latent_x=round(x + semantic, 1),
        latent=round(length - semantic, 1),
        figure=f"{count.places:,}/{count.out_of:,}",
        figure_x=round(x + length + 5, 1),
        title=f"{heading.name}: {count.in_words}",
        family=heading.family,
    )


def _row(number: int) -> int:
    return TOP + ROW * number


def shorten(name: str) -> str:
    """A name that fits beside its row; whole in the picture's title and in the table."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"
