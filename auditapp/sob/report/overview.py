"""What the overview of a study shows of its benchmark: the newest figures, as a small heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.showing.figures import Entry, Figures, in_words
from auditapp.sob.pure.showing.heat_map import RATE, TEN, arrange_heat_map, choose_targets
from auditapp.sob.queries.arms import KIND
from transcripts.charts.figures import Cell, GridChart, GridRow, Missing
from transcripts.formats.numbers import write_number
from transcripts.projects.access import ProjectRequest

MAX_COLUMNS = 12


def place_newest(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place for the newest benchmark, which the browser fills: its figures may have to be computed."""
    return {} if request.project.batches.filter(kind=KIND).exists() else None


def draw_newest(figures: Figures, *, slug: str, batch_id: int) -> GridChart:
    """The scores of a batch by model and target, for one task."""
    targets = choose_targets(figures, TEN if len(figures.targets) > MAX_COLUMNS else "")
    heat = arrange_heat_map(figures, targets=targets, with_published=False, max_columns=MAX_COLUMNS)
    columns = [column for column in heat["columns"] if column != RATE]
    task = heat["tasks"][0] if heat["tasks"] else ""
    address = reverse("sob:responses", args=[slug, batch_id])
    rows = [
        GridRow(
            _name_row(figures.find_cell(row["model"], task, OVERALL), row["model"]), _make_cells(row, task, address)
        )
        for row in heat["rows"]
    ]
    title = f"Unwarranted attributes per answer, {in_words(task)}"
    missing = Missing("No answer has been counted yet.", reverse("batches:detail", args=[slug, batch_id]), "The batch")
    note = "In brackets, how many answers count of those asked for; refusals and answers that could not be read do not."
    note = " ".join([note, *figures.mark_sentences])
    return GridChart("newest-benchmark", title, columns, rows, rows_are="Model", note=note, missing=missing)


def _name_row(overall: Entry | None, model: str) -> str:
    return f"{model} ({overall['n_nonrefused']:,} of {overall['n_responses']:,})" if overall else model


def _make_cells(row: Mapping[str, Any], task: str, address: str) -> Sequence[Cell]:
    return [
        Cell(
            cell["value"],
            text=write_number(cell["value"]) + cell.get("mark", ""),
            href=f"{address}?{urlencode({'model': row['model'], 'task': task, 'target': cell['target']})}",
        )
        for cell in row["cells"]
        if cell["task"] == task and not cell["is_rate"]
    ]
