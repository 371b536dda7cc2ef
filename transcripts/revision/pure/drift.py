"""How the reading of a fixed set of sentences moves from one codebook version to the next.

People need criteria to judge by, and judging changes the criteria (Shankar et al. 2024, "criteria drift"). So a set of
sentences is coded anew after each change of meaning: what moves there moved with the codebook, not with the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Of the small chart: the distance of two versions, its height and its margin.
STEP, HEIGHT, MARGIN = 56, 44, 10


Reading = tuple[int, int, int, frozenset[str]]
"""The number of a version, a sentence, a coder, and the identifiers of the codes she applied to it under that version."""


class Point(NamedTuple):
    """One code under one version. ``rate`` is ``applied`` of ``read``.

    ``same`` of ``compared`` counts the readings that applied the code, or did not, as the same coder did in the same
    sentence under the version before; nothing is compared in the first version, and where nobody read twice.
    """

    version: int
    read: int
    applied: int
    compared: int
    same: int

    @property
    def rate(self) -> float | None:
        """Share of readings with the code; ``None`` when nobody read."""
        return self.applied / self.read if self.read else None

    @property
    def agreement(self) -> float | None:
        """Share of readings as before; ``None`` when nothing can be compared."""
        return self.same / self.compared if self.compared else None


def measure_drift(readings: Iterable[Reading], codes: Sequence[str]) -> dict[str, list[Point]]:
    """The points of each code, version by version. Versions nobody read in are left out."""
    by_version: dict[int, dict[tuple[int, int], frozenset[str]]] = defaultdict(dict)
    for version, sentence, coder, applied_codes in readings:
        by_version[version][sentence, coder] = applied_codes
    versions = sorted(by_version)
    points: dict[str, list[Point]] = {code: [] for code in codes}
    for place, version in enumerate(versions):
        here = by_version[version]
        before = by_version[versions[place - 1]] if place else {}
        again = here.keys() & before.keys()
        for code in codes:
            same = sum((code in here[unit]) == (code in before[unit]) for unit in again)
            applied = sum(code in found for found in here.values())
            points[code].append(Point(version, len(here), applied, len(again), same))
    return points


def lay_out_rates(points: Sequence[Point]) -> dict[str, object]:
    """The chart of one code, for its template: a line through the rates from 0 at the bottom to 1 at the top.

    There is a dot for each version that was read under; ``figures`` says in words what it shows.
    """
    rated = [(place, point) for place, point in enumerate(points) if point.rate is not None]
    dots = [(MARGIN + STEP * place, f"{_height(point):.1f}") for place, point in rated]
    figures = "; ".join(f"v{point.version}: {point.applied} of {point.read}" for _, point in rated)
    return {
        "width": 2 * MARGIN + STEP * max(1, len(points) - 1),
        "height": HEIGHT,
        "axis": HEIGHT - MARGIN,
        "dots": dots,
        "line": " ".join(f"{x},{y}" for x, y in dots),
        "figures": figures or "not coded yet",
    }


def _height(point: Point) -> float:
    return HEIGHT - MARGIN - (point.rate or 0.0) * (HEIGHT - 2 * MARGIN)
