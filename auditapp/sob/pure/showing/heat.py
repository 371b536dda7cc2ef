"""The heat map of scores as rows of plain values, for a real table whose cells are links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.published import TARGETS, published_rows
from auditapp.sob.pure.showing.figures import Counting, Entry, Figures, describe_cell, read_score

STEPS = 20
RATE = "rate"
MAX_COLUMNS = 60
TEN, ALL = "ten", "all"


def choose_targets(figures: Figures, asked: str = "") -> str:
    """Which targets to show: the paper's ten where all of them occur or there is none, else all; or as asked for."""
    if asked in {TEN, ALL}:
        return asked
    return TEN if set(TARGETS) <= set(figures.targets) or not figures.targets else ALL


def draw_heat_map(
    figures: Figures, *, counting: Counting = Counting.PAPER, targets: str = TEN, with_published: bool = True
) -> dict[str, Any]:
    """One colour scale over every score shown, from 0 to the highest (method brief R40).

    Per task a column for the attribution rate, which has a scale of its own from 0 to 1, one for all texts, and one per
    target. ``left_out`` targets have no column, because there are too many.

    ``with_published`` is for answers that compare with the published rows: others do not stand on one scale with them.
    """
    names = list(TARGETS) if targets == TEN else _list_all(figures)
    columns = [RATE, OVERALL, *names[:MAX_COLUMNS]]
    tasks = figures.tasks
    own = [[_find_cell(figures, model, task, columns) for task in tasks] for model in figures.models]
    scores = [
        read_score(cell, counting).sob or 0.0
        for by_task in own
        for cells in by_task
        for column, cell in zip(columns, cells, strict=True)
        if cell and column != RATE
    ]
    published = [row for row in published_rows() if row.task in tasks and with_published]
    highest = max([*scores, *(max(row.overall, *row.by_target.values()) for row in published)], default=0.0)
    rows = [
        {
            "model": model,
            "cells": [
                _shade_own(task, column, cell, counting, highest)
                for task, cells in zip(tasks, by_task, strict=True)
                for column, cell in zip(columns, cells, strict=True)
            ],
        }
        for model, by_task in zip(figures.models, own, strict=True)
    ]
    left_out = max(0, len(names) - MAX_COLUMNS)
    beside = list(_draw_published(tasks, columns, highest)) if with_published else []
    return {
        "columns": columns,
        "tasks": tasks,
        "highest": highest,
        "rows": rows,
        "published": beside,
        "left_out": left_out,
        "width": 1 + len(columns) * len(tasks) + len(tasks) - 1,
        "steps": range(STEPS + 1),
    }


def _list_all(figures: Figures) -> list[str]:
    """The paper's targets that occur, in its order, then the others by size."""
    occurring = set(figures.targets)
    return [target for target in TARGETS if target in occurring] + [
        target for target in figures.targets if target not in TARGETS
    ]


def _find_cell(figures: Figures, model: str, task: str, columns: Sequence[str]) -> list[Entry | None]:
    return [figures.find_cell(model, task, OVERALL if column == RATE else column) for column in columns]


def _shade_own(task: str, column: str, cell: Entry | None, counting: Counting, highest: float) -> dict[str, Any]:
    if cell is None:
        return _make_cell(task, column, None, 0)
    score = read_score(cell, counting)
    details = describe_cell(cell, counting)
    if column == RATE:
        return _make_cell(task, column, score.rate, _shade(score.rate, 1.0), f"attribution rate, {details}")
    return _make_cell(task, column, score.sob, _shade(score.sob, highest), details)


def _draw_published(tasks: Sequence[str], columns: Sequence[str], highest: float) -> Iterable[dict[str, Any]]:
    rows = {(row.model, row.task): row for row in published_rows()}
    for model in dict.fromkeys(row.model for row in published_rows()):
        cells = []
        for task in tasks:
            row = rows[model, task]
            values = {RATE: row.attribution_rate, OVERALL: row.overall, **row.by_target}
            for column in columns:
                value = values.get(column)
                cells.append(_make_cell(task, column, value, _shade(value, 1.0 if column == RATE else highest)))
        yield {"model": model, "cells": cells}


def _shade(value: float | None, highest: float) -> int:
    return round(STEPS * min(1.0, value / highest)) if value and highest else 0


def _make_cell(task: str, column: str, value: float | None, step: int, details: str = "") -> dict[str, Any]:
    """One figure. ``step`` is its shade; ``details`` says which answers it counts, "" for a published one."""
    is_rate = column == RATE
    return {
        "task": task,
        "column": column,
        "value": value,
        "step": step,
        "details": details,
        "is_rate": is_rate,
        "target": OVERALL if is_rate else column,
        "is_overall": column == OVERALL,
        "starts_task": is_rate and task != "acceptability",
    }
