"""The heat map of scores as rows of plain values, for a real table whose cells are links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auditapp.sob.metrics import OVERALL, Cell
from auditapp.sob.published import TARGETS, published_rows

STEPS = 20
TASKS = ("acceptability", "non_acceptability")


class HeatCell(NamedTuple):
    """One score with what stands behind it; ``step`` is its shade from 0 to 20. ``score`` is ``None`` where undefined."""

    task: str
    target: str
    score: float | None
    step: int
    denominator: int | None

    @property
    def is_overall(self) -> bool:
        """Whether the cell is over all texts."""
        return self.target == OVERALL

    @property
    def starts_task(self) -> bool:
        """Whether a gap stands before the cell."""
        return self.is_overall and self.task != TASKS[0]


class HeatRow(NamedTuple):
    """A model's scores under every task, in the order of the columns, with its attribution rate per task."""

    model: str
    published: bool
    cells: list[HeatCell]
    rates: dict[str, float | None]


class HeatMap(NamedTuple):
    """Columns (overall first) for each task, rows of this batch, and the published rows for reference."""

    targets: list[str]
    tasks: list[str]
    highest: float
    rows: list[HeatRow]
    published: list[HeatRow]

    @property
    def width(self) -> int:
        """Columns of the table, names and gap included."""
        return 1 + len(self.targets) * len(self.tasks) + len(self.tasks) - 1

    @property
    def steps(self) -> range:
        """The shades there are."""
        return range(STEPS + 1)


def draw_heat_map(cells: Sequence[Cell]) -> HeatMap:
    """One colour scale over everything shown, from 0 to the highest score (method brief R40)."""
    tasks = [task for task in TASKS if any(cell.task == task for cell in cells)] or list(TASKS)
    columns = [OVERALL, *TARGETS]
    reference = [row for row in published_rows() if row.task in tasks]
    highest = max(
        [cell.sob for cell in cells if cell.sob is not None and cell.target in columns]
        + [max([row.overall, *row.by_target.values()]) for row in reference],
        default=0.0,
    )
    found = {(cell.model, cell.task, cell.target): cell for cell in cells}
    models = list(dict.fromkeys(cell.model for cell in cells))
    rows = []
    for model in models:
        own = [
            _shade(task, target, cell.sob if cell else None, cell.n_nonrefused if cell else None, highest)
            for task in tasks
            for target in columns
            for cell in [found.get((model, task, target))]
        ]
        rates = {task: _rate(found.get((model, task, OVERALL))) for task in tasks}
        rows.append(HeatRow(model, published=False, cells=own, rates=rates))
    return HeatMap(columns, tasks, highest, rows, list(_draw_published(tasks, columns, highest)))


def _draw_published(tasks: Sequence[str], columns: Sequence[str], highest: float) -> Iterable[HeatRow]:
    rows = {(row.model, row.task): row for row in published_rows()}
    for model in dict.fromkeys(row.model for row in published_rows()):
        scores = {task: {OVERALL: rows[model, task].overall, **rows[model, task].by_target} for task in tasks}
        cells = [_shade(task, target, scores[task][target], None, highest) for task in tasks for target in columns]
        yield HeatRow(
            model, published=True, cells=cells, rates={task: rows[model, task].attribution_rate for task in tasks}
        )


def _shade(task: str, target: str, score: float | None, denominator: int | None, highest: float) -> HeatCell:
    step = round(STEPS * score / highest) if score and highest else 0
    return HeatCell(task, target, score, step, denominator)


def _rate(cell: Cell | None) -> float | None:
    return cell.attribution_rate if cell else None
