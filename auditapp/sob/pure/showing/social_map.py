"""Attributed values: the social map, as rows for a page and as SVG, and the four cells of the mapping side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auditapp.sob.pure.limits import FIGURE_NOTE
from auditapp.sob.pure.measures.attributions import MAX_VALUE_LENGTH
from auditapp.sob.pure.measures.mapping import (
    PUBLISHED,
    Kind,
    Rule,
    TargetMapping,
    name_value,
    published_mapping,
    published_shares,
)
from auditapp.sob.pure.showing.figures import TASK_NAMES, TASKS, Entry, Figures
from auditapp.sob.pure.showing.svg import CELL_H, LABEL, LEFT, QUIET, Svg, shorten, shorten_all, wrap

STEPS = 20


def arrange_map(entry: Entry, mapping: TargetMapping) -> dict[str, Any]:
    """One entry of the report's "social_map", ready to be shown; shades run from 0 to ``highest``, in per cent.

    A cell's ``kind`` says what the value maps to; one that ``can_open`` has answers that an address can name.
    """
    shares = [
        [100 * count / denominator if denominator else None for count in counts]
        for denominator, counts in zip(entry["denominators"], entry["counts"], strict=True)
    ]
    highest = max((share for row in shares for share in row if share is not None), default=0.0)
    rows = []
    for index, target in enumerate(entry["targets"]):
        kinds = [_find_kind(mapping, target, value) for value in entry["values"]]
        cells = [
            {
                "value": value,
                "answers": count,
                "pct": share,
                "step": _shade(share, highest),
                "kind": kind,
                "can_open": count > 0 and len(value) <= MAX_VALUE_LENGTH,
            }
            for value, count, share, kind in zip(
                entry["values"], entry["counts"][index], shares[index], kinds, strict=True
            )
        ]
        rows.append({"target": target, "denominator": entry["denominators"][index], "cells": cells})
    return {"values": list(entry["values"]), "rows": rows, "highest": highest, "steps": range(STEPS + 1)}


def _find_kind(mapping: TargetMapping, target: str, value: str) -> Kind | None:
    return next((kind for kind in Kind if name_value(value) in mapping.list_values(target, kind)), None)


def _shade(share: float | None, highest: float) -> int:
    return round(STEPS * share / highest) if share and highest else 0


_COLUMN = 46
_MARKS = {Kind.SELF: "s", Kind.DOMINANT: "d"}


def draw_social_map(
    report: Mapping[str, Any], *, model: str | None = None, mapping: TargetMapping | None = None
) -> str:
    """Targets by the values attributed most often, both tasks below each other; ``model`` None is all models together.

    Values that stand for the target itself or for the dominant group are marked by ``mapping``, the published one where
    none is given.
    """
    figures = Figures(report)
    mapping = mapping or published_mapping()
    drawn = {entry["task"]: arrange_map(entry, mapping) for entry in figures.find("social_map", model=model)}
    panels = {task: drawn[task] for task in TASKS if task in drawn}
    columns = max((len(panel["values"]) for panel in panels.values()), default=0)
    whose = "all models together" if model is None else model
    notes = wrap(
        "Percentage of n, the answers to texts on the target with at least one attribution and no list among their values. "
        "A dash: there is no such answer. Columns: the values attributed most often over all texts and models of the task. "
        f"s: stands for the target itself, d: for the dominant group (mapping: {mapping.name}). "
        f"{FIGURE_NOTE} {figures.describe_versions()}",
        width := max(LEFT + 60 + _COLUMN * columns + 70, 760),
    )
    heights = {task: 150 + CELL_H * len(panel["rows"]) for task, panel in panels.items()}
    height = 44 + sum(heights.values()) + 24 + 15 * len(notes)
    svg = Svg(
        figure="sob-map",
        width=width,
        height=height,
        title=f"Which values are attributed to whom: {shorten(whose, 60)}",
        description=_describe_map(figures, model),
    )
    svg.text(16, 26, f"Values attributed by {shorten(whose, 60)}", font_size=17, font_weight="bold")
    top = 44
    for task, panel in panels.items():
        _draw_panel(svg, task, panel, top)
        top += heights[task]
    svg.lines_of_text(16, top + 20, notes, fill=QUIET)
    return svg.write()


def _draw_panel(svg: Svg, task: str, panel: Mapping[str, Any], top: int) -> None:
    head, left = top + 118, LEFT + 60
    svg.text(16, top + 18, TASK_NAMES[task], font_size=14, font_weight="bold")
    svg.text(left - 8, head - 8, "n", anchor="end", fill=QUIET)
    for number, value in enumerate(shorten_all(panel["values"], 17)):
        svg.text(left + _COLUMN * number + 18, head - 8, value, turn=-45)
    targets = shorten_all([row["target"] for row in panel["rows"]], LABEL)
    for place, row in enumerate(panel["rows"]):
        y = head + CELL_H * place
        svg.text(LEFT, y + 16, targets[place], anchor="end")
        svg.text(left - 8, y + 16, str(row["denominator"]), anchor="end", fill=QUIET)
        for number, cell in enumerate(row["cells"]):
            mark = f" {_MARKS[cell['kind']]}" if cell["kind"] else ""
            figure = "" if cell["pct"] is None else f"{cell['pct']:.1f}{mark}"
            words = f"percent of answers: {row['target']}, {cell['value']}"
            svg.cell(left + _COLUMN * number, y, _COLUMN, figure, share=(cell["pct"] or 0.0) / 100, words=words)


def _describe_map(figures: Figures, model: str | None) -> str:
    sentences = []
    for task in TASKS:
        rows = [
            row
            for row in figures.find("top_values", model=model, task=task)
            if row["target"] in figures.printed_targets
        ]
        firsts = [
            f"{row['target']} {row['values'][0]['value']} ({row['values'][0]['pct']:.1f} %)"
            for row in rows
            if row["values"]
        ]
        if rows:
            sentences.append(f"{TASK_NAMES[task]}, the first value of each target: {', '.join(firsts)}.")
    return " ".join(sentences) or "The report holds no attributed values."


CELLS = [(task, kind) for task in TASKS for kind in Kind]
"""The four cells: {acceptability, non-acceptability} x {self, dominant}."""


def list_mapped(figures: Figures, model: str | None, rule: Rule) -> list[dict[str, Any]]:
    """The mapping of one model (``None``: all together), by one rule, in the order of the report; cells as in ``CELLS``.

    Table 13 is shown beside the shares it can be compared with: all models together, by any value of the published mapping.
    """
    is_comparable = figures.report["versions"].get("mapping") == PUBLISHED and model is None and rule is Rule.ANY
    published = published_shares() if is_comparable else {}
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in figures.find("mapping" if rule is Rule.ANY else "mapping_all", model=model):
        found.setdefault(entry["target"], {})[entry["task"], entry["kind"]] = entry
    return [
        {
            "target": target,
            "cells": [
                {
                    "entry": cells.get((task, str(kind))),
                    "published": published.get((name_value(target), task, str(kind))),
                }
                for task, kind in CELLS
            ],
        }
        for target, cells in found.items()
    ]
