"""The ratios of a run beside those kept in the repository, ``perf/ratios.json``.

Times differ from machine to machine; a ratio to something measured in the same run does so far less. Each ratio is
measured in several rounds; its figure is their median, its spread the lowest and the highest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perf.results import Row, find_median

FILE = Path(__file__).with_name("ratios.json")
TOLERATED = 0.1


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
