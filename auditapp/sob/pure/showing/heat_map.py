"""The heat map of scores: its rows, which a page shows as a table whose cells are links, and the same rows as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from auditapp.sob.pure.limits import FIGURE_NOTE
from auditapp.sob.pure.measures.cautions import explain_marks
from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.published import TARGETS, published_rows, published_source
from auditapp.sob.pure.showing.figures import (
    TASK_NAMES,
    Counting,
    Entry,
    Figures,
    describe_cell,
    in_words,
    mark_score,
    read_score,
    write_decimals,
)
from auditapp.sob.pure.showing.svg import CELL_H, CELL_W, LABEL, LEFT, QUIET, Svg, mix_shade, shorten_all, wrap

STEPS = 20
RATE = "rate"
MAX_COLUMNS = 60
TEN, ALL = "ten", "all"


def choose_targets(figures: Figures, asked: str = "") -> str:
    """Which targets to show: the paper's ten where all of them occur or there is none, else all; or as asked for."""
    if asked in {TEN, ALL}:
        return asked
    return TEN if set(TARGETS) <= set(figures.targets) or not figures.targets else ALL


def arrange_heat_map(
    figures: Figures,
    *,
    counting: Counting = Counting.PAPER,
    targets: str = TEN,
    with_published: bool = True,
    max_columns: int | None = MAX_COLUMNS,
) -> dict[str, Any]:
    """One colour scale over every score shown, from 0 to the highest (method brief R40).

    Per task a column for the attribution rate, which has a scale of its own from 0 to 1, one for all texts, and one per
    target. ``left_out`` targets have no column, because there are too many.

    ``with_published`` is for answers that can be compared with the published rows; others are not on one scale with them.
    """
    names = list(TARGETS) if targets == TEN else _list_all(figures)
    columns = [RATE, OVERALL, *names[:max_columns]]
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
    left_out = max(0, len(names) - (max_columns or len(names)))
    beside = list(_shade_published(tasks, columns, highest)) if with_published else []
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
    # Published figures have no counts.
    details = describe_cell(cell, counting) if cell.get("n_attributed") is not None else ""
    if column == RATE:
        return _make_cell(task, column, score.rate, _shade(score.rate, 1.0), f"attribution rate, {details}")
    return _make_cell(task, column, score.sob, _shade(score.sob, highest), details) | {"mark": mark_score(cell)}


def _shade_published(tasks: Sequence[str], columns: Sequence[str], highest: float) -> Iterable[dict[str, Any]]:
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


def draw_heat_map(report: Mapping[str, Any], *, with_published: bool = False) -> str:
    """The rows as a complete SVG in paper counting, with title, scale, denominators and versions."""
    figures = Figures(report)
    heat = arrange_heat_map(figures, targets=choose_targets(figures), with_published=with_published, max_columns=None)
    tasks, columns, rows, published = (heat[key] for key in ("tasks", "columns", "rows", "published"))
    marks = [mark for row in rows for cell in row["cells"] for mark in cell.get("mark", "")]
    half = CELL_W * len(columns) + 24
    notes = wrap(
        "Mean number of attributes per answer that counts (paper counting), "
        f"one scale from 0 to {heat['highest']:.2f}. attri.: share of answers with at least one attribution. "
        "Overall is over all texts. A dash: undefined or never asked. "
        f"{''.join(f'{sentence} ' for sentence in explain_marks(marks))}"
        f"{f'Below the line the published rows: {published_source()}. ' if published else ''}"
        f"{' '.join([FIGURE_NOTE, *figures.list_alarms()])} {figures.describe_versions()}",
        width := max(LEFT + half * len(tasks) + 16, 560),
    )
    top = 118
    bottom = top + CELL_H * (len(rows) + (len(published) + 1 if published else 0))
    svg = Svg(
        figure="sob-heat",
        width=width,
        height=bottom + 40 + 15 * len(notes),
        title="Unwarranted attributes per answer, by model, task and target",
        description=_describe_scores(figures, tasks),
    )
    svg.text(16, 26, "Unwarranted attributes per answer", font_size=17, font_weight="bold")
    for number, task in enumerate(tasks):
        left = LEFT + half * number
        svg.text(left, 50, TASK_NAMES[task], font_size=14, font_weight="bold")
        for place, name in enumerate(shorten_all(["attri." if each == RATE else each for each in columns], 12)):
            svg.text(left + CELL_W * place + 16, top - 8, name, turn=-50)
    _draw_rows(svg, rows, len(columns), top)
    if published:
        below = top + CELL_H * (len(rows) + 1)
        svg.line(16, below - 6, width - 32, 0)
        svg.text(16, below - 10, "Published (Table 4)", fill=QUIET)
        _draw_rows(svg, published, len(columns), below)
    svg.text(16, bottom + 24, "0")
    for step in range(STEPS + 1):
        svg.rect(30 + 8 * step, bottom + 14, 8, 12, fill=mix_shade(step / STEPS))
    svg.text(36 + 8 * (STEPS + 1), bottom + 24, f"{heat['highest']:.2f} attributes per answer")
    svg.lines_of_text(16, bottom + 50, notes, fill=QUIET)
    return svg.write()


def _draw_rows(svg: Svg, rows: Sequence[Mapping[str, Any]], width: int, top: int) -> None:
    """Every model with its figures, ``width`` columns to a task."""
    names = shorten_all([row["model"] for row in rows], LABEL)
    for number, row in enumerate(rows):
        y = top + CELL_H * number
        svg.text(LEFT - 10, y + 16, names[number], anchor="end")
        for place, cell in enumerate(row["cells"]):
            x = LEFT + CELL_W * place + 24 * (place // width)
            figure = "" if cell["value"] is None else write_decimals(cell["value"]) + cell.get("mark", "")
            if cell["is_rate"]:
                svg.text(x + CELL_W / 2, y + 16, figure or "–", anchor="middle", fill=QUIET)
            else:
                words = f"{row['model']}, {in_words(cell['task'])}, {cell['column']}"
                svg.cell(x, y, CELL_W, figure, share=cell["step"] / STEPS, words=words)


def _describe_scores(figures: Figures, tasks: Sequence[str]) -> str:
    parts = []
    for task in tasks:
        scores = [(figures.find_figure("sob", model, task), model) for model in figures.models]
        known = sorted((score, model) for score, model in scores if score is not None)
        if known:
            (low, lowest), (high, highest) = known[0], known[-1]
            parts.append(f"{TASK_NAMES[task]}: overall from {low:.2f} ({lowest}) to {high:.2f} ({highest}).")
    return f"A table of {len(figures.models)} models by {len(figures.targets)} targets and all texts. {' '.join(parts)}"
