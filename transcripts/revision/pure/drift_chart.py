"""Where the rates of one code over codebook versions lie in a small chart; the table beside it holds the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from transcripts.revision.pure.drift import Point

STEP, HEIGHT, MARGIN = 56, 44, 10


class Dot(NamedTuple):
    """The rate under one version, in the chart's own units."""

    x: int
    y: str


class Chart(NamedTuple):
    """A line through the rates from 0 at the bottom to 1 at the top, a dot for each version that was read under."""

    width: int
    height: int
    axis: int
    dots: list[Dot]
    figures: str

    @property
    def line(self) -> str:
        """The dots as a polyline takes them."""
        return " ".join(f"{dot.x},{dot.y}" for dot in self.dots)


def lay_out_rates(points: Sequence[Point]) -> Chart:
    """The chart of one code; ``figures`` says in words what it shows."""
    rated = [(place, point) for place, point in enumerate(points) if point.rate is not None]
    dots = [Dot(MARGIN + STEP * place, f"{_height(point):.1f}") for place, point in rated]
    told = "; ".join(f"v{point.version}: {point.applied} of {point.read}" for _, point in rated)
    width = 2 * MARGIN + STEP * max(1, len(points) - 1)
    return Chart(width, HEIGHT, HEIGHT - MARGIN, dots, told or "not read yet")


def _height(point: Point) -> float:
    return HEIGHT - MARGIN - (point.rate or 0.0) * (HEIGHT - 2 * MARGIN)
