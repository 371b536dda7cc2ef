"""The heat map of scores, whose rows a page shows as a table and a file as charts; and the rank plot (Figure 2 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.instruments import TARGETS, published_rows, published_source
from auditapp.benchmarks.sob.pure.measures.cautions import FIGURE_NOTE, explain_marks
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.showing.figures import (
    TASK_NAMES,
    TASKS,
    Counting,
    Entry,
    Figures,
    describe_cell,
    in_words,
    read_score,
)
from transcripts.charts.figures import Cell, Dot, GridChart, GridRow, Row, RowChart, Verdict
from transcripts.charts.layout import ChartFile
from transcripts.statistics.figures import write_number, write_p

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
    named = [target for target in TARGETS if targets == TEN or target in figures.targets]
    names = named if targets == TEN else named + [target for target in figures.targets if target not in TARGETS]
    columns, tasks = [RATE, OVERALL, *names[:max_columns]], figures.tasks
    places = [(task, column, OVERALL if column == RATE else column) for task in tasks for column in columns]
    rows: list[dict[str, Any]] = [
        {
            "model": model,
            "cells": [
                _make_cell(task, column, figures.find_cell(model, task, target), counting)
                for task, column, target in places
            ],
        }
        for model in figures.models
    ]
    printed = {(row.model, row.task): row for row in published_rows() if with_published and row.task in tasks}
    scores = {place: {OVERALL: row.overall, **row.by_target} for place, row in printed.items()}
    beside: list[dict[str, Any]] = []
    for model in dict.fromkeys(model for model, _ in printed):
        cells = []
        for task, column, target in places:
            figure = {"sob": scores[model, task].get(target), "attribution_rate": printed[model, task].attribution_rate}
            cells.append(_make_cell(task, column, figure))
        beside.append({"model": model, "cells": cells})
    shown = [cell["value"] or 0.0 for row in rows for cell in row["cells"] if not cell["is_rate"]]
    highest = max(shown + [score for row in scores.values() for score in row.values()], default=0.0)
    for row in [*rows, *beside]:
        for cell in row["cells"]:
            top = 1.0 if cell["is_rate"] else highest
            cell["step"] = round(STEPS * min(1.0, cell["value"] / top)) if cell["value"] and top else 0
    return {
        "columns": columns,
        "tasks": tasks,
        "highest": highest,
        "rows": rows,
        "published": beside,
        "left_out": len(names) - len(columns) + 2,
        "width": 1 + len(columns) * len(tasks) + len(tasks) - 1,
        "steps": range(STEPS + 1),
    }


def _make_cell(task: str, column: str, cell: Entry | None, counting: Counting = Counting.PAPER) -> dict[str, Any]:
    """One figure of a model. ``details`` says which answers it counts, "" for a published one, which has no counts."""
    is_rate = column == RATE
    score = read_score(cell, counting) if cell else None
    details = describe_cell(cell, counting) if cell and cell.get("n_attributed") is not None else ""
    return {
        "task": task,
        "column": column,
        "value": score and (score.rate if is_rate else score.sob),
        "details": f"attribution rate, {details}" if details and is_rate else details,
        "mark": "" if is_rate or not score else "".join(mark for mark, _ in score.marks),
        "is_rate": is_rate,
        "target": OVERALL if is_rate else column,
        "is_overall": column == OVERALL,
        "starts_task": is_rate and task != TASKS[0],
    }


def draw_heat_map(report: Mapping[str, Any], *, with_published: bool = False) -> ChartFile:
    """The rows as a file in paper counting: a grid for each task on one scale, with denominators and versions."""
    figures = Figures(report)
    heat = arrange_heat_map(figures, targets=choose_targets(figures), with_published=with_published, max_columns=None)
    rows = [*heat["rows"], *({**row, "model": f"{row['model']} (Table 4)"} for row in heat["published"])]
    marks = [mark for row in rows for cell in row["cells"] for mark in cell["mark"]]
    counted = (
        f"Mean number of attributes per answer that counts (paper counting), one scale from 0 to {write_number(heat['highest'])}. "
        "Attribution rate: share of answers with at least one attribution. Overall is over all texts. A dash: undefined or "
        "never asked."
    )
    notes = [
        counted,
        *explain_marks(marks),
        *([f"Table 4: the published rows, {published_source()}."] if heat["published"] else []),
        *(FIGURE_NOTE, *figures.list_alarms(), figures.describe_versions()),
    ]
    return ChartFile(
        "sob-heat",
        "Unwarranted attributes per answer, by model, task and target",
        [(TASK_NAMES[task], _draw_grid(heat, rows, task)) for task in heat["tasks"]],
        summary=_describe_scores(figures, heat["tasks"]),
        notes=[" ".join(notes)],
    )


def _draw_grid(heat: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], task: str) -> GridChart:
    """The scores under one task; the attribution rate, which has a scale of its own, is beside them in words."""
    return GridChart(
        key=f"sob-heat-{task}",
        title=TASK_NAMES[task],
        columns=[column for column in heat["columns"] if column != RATE],
        rows=[_draw_row(row["model"], [cell for cell in row["cells"] if cell["task"] == task]) for row in rows],
        high=heat["highest"],
    )


def _draw_row(model: str, cells: Sequence[Mapping[str, Any]]) -> GridRow:
    drawn = []
    rate = ""
    for cell in cells:
        text = "" if cell["value"] is None else write_number(cell["value"]) + cell["mark"]
        if cell["is_rate"]:
            rate = f"attribution rate {text or '–'}"
            continue
        words = f"{text or 'not measured'}: {model}, {in_words(cell['task'])}, {cell['column']}"
        drawn.append(Cell(cell["value"], text=text, label=words))
    return GridRow(model, drawn, Verdict(rate))


def _describe_scores(figures: Figures, tasks: Sequence[str]) -> str:
    parts = []
    for task in tasks:
        scores = [(figures.find_figure("sob", model, task), model) for model in figures.models]
        known = sorted((score, model) for score, model in scores if score is not None)
        if known:
            (low, lowest), (high, highest) = known[0], known[-1]
            parts.append(
                f"{TASK_NAMES[task]}: overall from {write_number(low)} ({lowest}) to {write_number(high)} ({highest})."
            )
    return f"A table of {len(figures.models)} models by {len(figures.targets)} targets and all texts. {' '.join(parts)}"


def draw_rank_plot(figures: Figures) -> RowChart:
    """Mean rank of each target under both tasks: the further right, the more attributes (rank k is the highest score)."""
    tests = {row["task"]: row for row in figures.find("friedman")}
    ranked: dict[str, Mapping[str, float]] = {
        task: tests[task].get("mean_ranks") or {} for task in TASKS if task in tests
    }
    first: Mapping[str, float] = next((ranks for ranks in ranked.values() if ranks), {})
    targets = sorted(first, key=lambda target: (-first[target], target))
    highest = max((int(test.get("k_treatments") or 0) for test in tests.values()), default=0) or max(len(targets), 2)
    return RowChart(
        key="sob-ranks",
        title="Mean rank of each target group over models",
        rows=[
            Row(
                target,
                [
                    Dot(ranks[target], series=TASKS.index(task), text=write_number(ranks[target]))
                    for task, ranks in ranked.items()
                    if target in ranks
                ],
            )
            for target in targets
        ],
        series=list(TASK_NAMES.values()),
        low=1.0,
        high=float(highest),
        summary=f"Rank {highest}: most attributes; rank 1: fewest. Sorted by the first task.",
        note=f"{_describe_tests(tests)} {FIGURE_NOTE} {figures.describe_versions()}",
    )


def _describe_tests(tests: Mapping[str, Entry]) -> str:
    sentences = []
    for task, test in tests.items():
        if test.get("chi2") is None:
            sentences.append(f"{TASK_NAMES[task]}: no Friedman test.")
            continue
        sentences.append(
            f"{TASK_NAMES[task]}: Friedman chi-squared({test['df']}) = {write_number(test['chi2'], 3)}, P {write_p(test['p'])}, "
            f"Kendall's W = {write_number(test['kendalls_w'], 3)}, {test['n_blocks']} models."
        )
    return " ".join(sentences) or "The report contains no Friedman test."
