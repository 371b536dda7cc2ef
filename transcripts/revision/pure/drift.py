"""How the reading of a fixed set of sentences moves from one codebook version to the next.

People need criteria to judge by, and judging changes the criteria (Shankar et al. 2024, "criteria drift"). So a set of
sentences is coded anew after each change of meaning: what moves there moved with the codebook, not with the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from transcripts.charts import figures as charts
from transcripts.charts.verdicts import STEADY_RULE, judge_steadiness, summarise

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


def draw_drift(named: Sequence[tuple[str, Sequence[Point]]]) -> charts.PanelChart:
    """The rates of each code, one small chart for each, judged by its readings under the last version."""
    panels = [
        charts.Panel(
            name,
            [charts.Point(f"v{each.version}", each.rate, f"{each.applied} of {each.read}") for each in points],
            verdict=judge_steadiness(points[-1].same, points[-1].compared),
        )
        for name, points in named
        if points
    ]
    return charts.PanelChart(
        key="drift",
        title="Share of readings with the code, by codebook version",
        panels=panels,
        summary=summarise((panel.verdict for panel in panels), "codes"),
        note=STEADY_RULE,
    )
