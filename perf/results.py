"""A figure beside its bar, as a line of the printed table and as an entry of the JSON file."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

HEADINGS = ("measure", "here", "bar", "holds", "peers")
WIDTHS = (26, 46, 26, 5, 0)


@dataclass(frozen=True)
class Row:
    """One figure. ``holds`` is ``None`` where there is no bar; ``peers`` quotes figures of comparable systems.

    ``rounds`` are ratios to something measured in the same run, or sizes: what perf/ratios.json keeps.
    """

    measure: str
    figure: str
    bar: str = ""
    holds: bool | None = None
    peers: str = ""
    rounds: Sequence[float] = ()
    higher_is_better: bool = False

    @property
    def verdict(self) -> str:
        """The word in the column "holds"."""
        return {True: "yes", False: "NO", None: "-"}[self.holds]


@dataclass(frozen=True)
class Measured:
    """What one module measured: lines for the table, and every number behind them for the JSON file."""

    rows: list[Row]
    numbers: dict[str, object] = field(default_factory=dict)


def format_headings() -> str:
    """The first two lines of the table, in Markdown."""
    return f"{_format_line(HEADINGS)}\n{_format_line(['-' * max(width, 5) for width in WIDTHS])}"


def format_row(row: Row) -> str:
    """One line of the table, in Markdown."""
    return _format_line([row.measure, row.figure, row.bar, row.verdict, row.peers])


def _format_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)) + " |"


def find_median(values: Sequence[float]) -> float:
    """The median of at least one value."""
    return float(statistics.median(values))


def find_percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that ``percent`` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]
