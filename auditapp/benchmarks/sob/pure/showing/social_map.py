"""Attributed values: the social map, as rows for a page and charts for a file, and the four cells of the mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auditapp.benchmarks.sob.pure.measures.attributions import MAX_VALUE_LENGTH
from auditapp.benchmarks.sob.pure.measures.cautions import FEW_SENTENCE, FIGURE_NOTE, mark_few
from auditapp.benchmarks.sob.pure.measures.mapping import (
    PUBLISHED,
    Kind,
    Rule,
    TargetMapping,
    name_value,
    published_mapping,
    published_shares,
)
from auditapp.benchmarks.sob.pure.showing.figures import TASK_NAMES, TASKS, Entry, Figures
from transcripts.charts.figures import Cell, GridChart, GridRow
from transcripts.charts.layout import ChartFile
from transcripts.charts.svg import fit
from transcripts.formats.numbers import write_number

STEPS = 20
MAX_NAME_WIDTH = 440
"""The name of a model in a title is cut where it is wider."""


def arrange_map(entry: Entry, mapping: TargetMapping, texts: Mapping[str, int]) -> dict[str, Any]:
    """One entry of the report's "social_map", ready to be shown; shades run from 0 to ``highest``, in per cent.

    ``texts``: how many texts of each target have an answer that counts. A cell's ``kind`` says what the value maps
    to; one that ``can_open`` has answers that an address can name.
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
        row = {"target": target, "denominator": entry["denominators"][index], "texts": texts.get(target, 0)}
        rows.append({**row, "cells": cells})
    return {"values": list(entry["values"]), "rows": rows, "highest": highest, "steps": range(STEPS + 1)}


def _find_kind(mapping: TargetMapping, target: str, value: str) -> Kind | None:
    return next((kind for kind in Kind if name_value(value) in mapping.list_values(target, kind)), None)


def _shade(share: float | None, highest: float) -> int:
    return round(STEPS * share / highest) if share and highest else 0


_MARKS = {Kind.SELF: "s", Kind.DOMINANT: "d"}


def draw_social_map(
    report: Mapping[str, Any], *, model: str | None = None, mapping: TargetMapping | None = None
) -> ChartFile:
    """Targets by the values attributed most often, a grid for each task; ``model`` None is all models together.

    Values that stand for the target itself or for the dominant group are marked by ``mapping``, the published one where
    none is given.
    """
    figures = Figures(report)
    mapping = mapping or published_mapping()
    drawn = {
        entry["task"]: arrange_map(entry, mapping, figures.count_texts(model=model, task=entry["task"]))
        for entry in figures.find("social_map", model=model)
    }
    whose = "all models together" if model is None else model
    note = (
        "Percentage of n, the answers to texts on the target with at least one attribution and no list among their values. A "
        "dash: there is no such answer. Columns: the values attributed most often over all texts and models of the task. s: "
        f"stands for the target itself, d: for the dominant group (mapping: {mapping.name}). {FEW_SENTENCE} {FIGURE_NOTE} "
        f"{figures.describe_versions()}"
    )
    return ChartFile(
        "sob-map",
        f"Values attributed by {fit(whose, MAX_NAME_WIDTH)}",
        [(TASK_NAMES[task], _draw_grid(drawn[task], task)) for task in TASKS if task in drawn],
        notes=[note],
    )


def _draw_grid(panel: Mapping[str, Any], task: str) -> GridChart:
    return GridChart(
        key=f"sob-map-{task}",
        title=TASK_NAMES[task],
        columns=panel["values"],
        rows=[
            GridRow(
                f"{row['target']}, n = {row['denominator']:,}{mark_few(row['denominator'], row['texts'])}",
                [_draw_cell(row["target"], cell) for cell in row["cells"]],
            )
            for row in panel["rows"]
        ],
        high=100.0,
    )


def _draw_cell(target: str, cell: Mapping[str, Any]) -> Cell:
    mark = f" {_MARKS[cell['kind']]}" if cell["kind"] else ""
    text = "" if cell["pct"] is None else f"{write_number(cell['pct'], 1)}{mark}"
    return Cell(cell["pct"], text, f"{text or 'no'} percent of answers: {target}, {cell['value']}")


CELLS = [(task, kind) for task in TASKS for kind in Kind]
"""The four cells: {acceptability, non-acceptability} x {self, dominant}."""


def list_mapped(figures: Figures, model: str | None, rule: Rule) -> list[dict[str, Any]]:
    """The mapping of one model (``None``: all together), by one rule, in the order of the report; cells as in ``CELLS``.

    Table 13 is shown beside the shares it can be compared with: all models together, by any value of the published mapping.
    """
    is_comparable = figures.report["versions"].get("mapping") == PUBLISHED and model is None and rule is Rule.ANY
    published = published_shares() if is_comparable else {}
    texts = {task: figures.count_texts(model=model, task=task) for task in TASKS}
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in figures.find("mapping" if rule is Rule.ANY else "mapping_all", model=model):
        found.setdefault(entry["target"], {})[entry["task"], entry["kind"]] = entry
    return [
        {
            "target": target,
            "cells": [
                {
                    "entry": cells.get((task, str(kind))),
                    "texts": texts[task].get(target, 0),
                    "published": published.get((name_value(target), task, str(kind))),
                }
                for task, kind in CELLS
            ],
        }
        for target, cells in found.items()
    ]
