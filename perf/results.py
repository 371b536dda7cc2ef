"""A figure beside its bar, as a line of the printed table, and its ratio beside the one kept in ``perf/ratios.json``.

Times differ from machine to machine; a ratio to something measured in the same run does so far less. Each ratio is
measured in several rounds; its figure is their median, its spread the lowest and the highest.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

HEADINGS = ("measure", "here", "bar", "holds", "peers")
WIDTHS = (26, 46, 26, 5, 0)
FILE = Path(__file__).with_name("ratios.json")
TOLERATED = 0.1


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


def describe_ratios(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """The ratios among the rows of a table, as the file keeps them."""
    return {
        row.measure: {
            "median": round(find_median(row.rounds), 4),
            "lowest": round(min(row.rounds), 4),
            "highest": round(max(row.rounds), 4),
            "rounds": len(row.rounds),
            "better": "higher" if row.higher_is_better else "lower",
        }
        for row in rows
        if row.rounds
    }


def read_kept(form: str, file: Path = FILE) -> dict[str, dict[str, Any]]:
    """The kept ratios of a form of the benchmark, ``full`` or ``small``; empty when there are none."""
    if not file.exists():
        return {}
    kept: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")).get(form, {})
    return kept


def keep(ratios: Mapping[str, dict[str, Any]], form: str, *, measured: Mapping[str, object], file: Path = FILE) -> None:
    """Write the ratios of this run, and on what they were ``measured``; those not measured now stay as they are."""
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    entries = {name: {**ratio, **measured} for name, ratio in ratios.items()}
    content[form] = dict(sorted((content.get(form, {}) | entries).items()))
    file.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def compare(now: Mapping[str, dict[str, Any]], kept: Mapping[str, dict[str, Any]]) -> list[str]:
    """A line for each ratio of this run, and a last one that names those that got worse by more than a tenth."""
    lines, worse = [], []
    for name, ratio in now.items():
        figure = f"{name}: {ratio['median']:.2f} ({ratio['lowest']:.2f} to {ratio['highest']:.2f})"
        before = kept.get(name)
        if before is None:
            lines.append(f"{figure}, not measured before")
            continue
        change = find_worsening(ratio, before)
        overlap = ratio["lowest"] <= before["highest"] and before["lowest"] <= ratio["highest"]
        if change > TOLERATED:
            worse.append(f"{name} ({change:.0%}{', within the spread of the rounds' if overlap else ''})")
        word = "worse" if change > 0 else "better"
        lines.append(f"{figure}, before {before['median']:.2f}: {abs(change):.0%} {word}")
    named = "; ".join(worse) or "none"
    return [*lines, f"Worse by more than a tenth: {named}."]


def find_worsening(now: Mapping[str, Any], before: Mapping[str, Any]) -> float:
    """By what share a ratio got worse; negative when it got better."""
    if not before["median"] or not now["median"]:
        return 0.0 if now["median"] == before["median"] else 1.0
    if now["better"] == "higher":
        return float(before["median"] / now["median"] - 1)
    return float(now["median"] / before["median"] - 1)
