"""The rates of one code over codebook versions as a small SVG; the table beside it holds the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from transcripts.revision.drift import Point

STEP, HEIGHT, MARGIN = 56, 44, 10


def draw_rates(name: str, points: Sequence[Point]) -> str:
    """An ``svg`` element: a line through the rates from 0 at the bottom to 1 at the top, a point for each version."""
    rated = [(place, point) for place, point in enumerate(points) if point.rate is not None]
    width = 2 * MARGIN + STEP * max(1, len(points) - 1)
    places = [(MARGIN + STEP * place, _height(point)) for place, point in rated]
    line = " ".join(f"{x},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
    told = "; ".join(f"v{point.version}: {point.applied} of {point.read}" for _, point in rated)
    return (
        f'<svg class="drift" role="img" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">'
        f"<title>{escape(name)}: {escape(told or 'not read yet')}</title>"
        f'<line class="axis" x1="0" x2="{width}" y1="{HEIGHT - MARGIN}" y2="{HEIGHT - MARGIN}"/>'
        f'<polyline points="{line}"/>{dots}</svg>'
    )


def _height(point: Point) -> float:
    return HEIGHT - MARGIN - (point.rate or 0.0) * (HEIGHT - 2 * MARGIN)
