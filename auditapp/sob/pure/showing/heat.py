"""The heat map of scores as rows of plain values, for a real table whose cells are links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.published import TARGETS, published_rows
from auditapp.sob.pure.showing.figures import Counting, Entry, Figures, describe_cell, read_score

STEPS = 20
RATE = "rate"
MOST_COLUMNS = 60
TEN, ALL = "ten", "all"


class HeatCell(NamedTuple):
    """One figure; ``step`` is its shade from 0 to 20. ``value`` is ``None`` where undefined.

    ``column`` is a target, "overall", or "rate" for the attribution rate, which has a scale of its own from 0 to 1.
    ``told`` says what stands behind the figure, "" for a published one.
    """

    task: str
    column: str
    value: float | None
    step: int
    told: str = ""

    @property
    def is_rate(self) -> bool:
        """Whether it is an attribution rate."""
        return self.column == RATE

    @property
    def target(self) -> str:
        """The target whose answers stand behind it."""
        return OVERALL if self.is_rate else self.column

    @property
    def is_overall(self) -> bool:
        """Whether it is over all texts."""
        return self.column == OVERALL

    @property
    def starts_task(self) -> bool:
        """Whether a gap stands before it."""
        return self.is_rate and self.task != "acceptability"


class HeatRow(NamedTuple):
    """A model's figures under every task, in the order of the columns."""

    model: str
    cells: list[HeatCell]


class HeatMap(NamedTuple):
    """Columns for each task (attribution rate, overall, targets), rows of a batch, and the published rows for reference.

    ``left_out`` targets have no column: there are too many.
    """

    columns: list[str]
    tasks: list[str]
    highest: float
    rows: list[HeatRow]
    published: list[HeatRow]
    left_out: int

    @property
    def width(self) -> int:
        """Columns of the table, names and gap included."""
        return 1 + len(self.columns) * len(self.tasks) + len(self.tasks) - 1

    @property
    def steps(self) -> range:
        """The shades there are."""
        return range(STEPS + 1)


def choose_targets(figures: Figures, asked: str = "") -> str:
    """Which targets to show: the paper's ten where all of them occur or there is none, else all; or as asked for."""
    if asked in {TEN, ALL}:
        return asked
    return TEN if set(TARGETS) <= set(figures.targets) or not figures.targets else ALL


def draw_heat_map(
    figures: Figures, *, counting: Counting = Counting.PAPER, targets: str = TEN, with_published: bool = True
) -> HeatMap:
    """One colour scale over every score shown, from 0 to the highest (method brief R40).

    ``with_published`` is for answers that compare with the published rows: others do not stand on one scale with them.
    """
    names = list(TARGETS) if targets == TEN else _list_all(figures)
    columns = [RATE, OVERALL, *names[:MOST_COLUMNS]]
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
        HeatRow(
            model,
            [
                _shade_own(task, column, cell, counting, highest)
                for task, cells in zip(tasks, by_task, strict=True)
                for column, cell in zip(columns, cells, strict=True)
            ],
        )
        for model, by_task in zip(figures.models, own, strict=True)
    ]
    left_out = max(0, len(names) - MOST_COLUMNS)
    beside = list(_draw_published(tasks, columns, highest)) if with_published else []
    return HeatMap(columns, tasks, highest, rows, beside, left_out)


def _list_all(figures: Figures) -> list[str]:
    """The paper's targets that occur, in its order, then the others by size."""
    occurring = set(figures.targets)
    return [target for target in TARGETS if target in occurring] + [
        target for target in figures.targets if target not in TARGETS
    ]


def _find_cell(figures: Figures, model: str, task: str, columns: Sequence[str]) -> list[Entry | None]:
    return [figures.find_cell(model, task, OVERALL if column == RATE else column) for column in columns]


def _shade_own(task: str, column: str, cell: Entry | None, counting: Counting, highest: float) -> HeatCell:
    if cell is None:
        return HeatCell(task, column, None, 0)
    score = read_score(cell, counting)
    told = describe_cell(cell, counting)
    if column == RATE:
        return HeatCell(task, column, score.rate, _shade(score.rate, 1.0), f"attribution rate, {told}")
    return HeatCell(task, column, score.sob, _shade(score.sob, highest), told)


def _draw_published(tasks: Sequence[str], columns: Sequence[str], highest: float) -> Iterable[HeatRow]:
    rows = {(row.model, row.task): row for row in published_rows()}
    for model in dict.fromkeys(row.model for row in published_rows()):
        cells = []
        for task in tasks:
            row = rows[model, task]
            values = {RATE: row.attribution_rate, OVERALL: row.overall, **row.by_target}
            for column in columns:
                value = values.get(column)
                cells.append(HeatCell(task, column, value, _shade(value, 1.0 if column == RATE else highest)))
        yield HeatRow(model, cells)


def _shade(value: float | None, highest: float) -> int:
    return round(STEPS * min(1.0, value / highest)) if value and highest else 0
