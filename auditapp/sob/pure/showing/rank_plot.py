"""Where the mean ranks of both tasks lie in the rank plot (Figure 2, arXiv 2606.17506); the table beside it has the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from auditapp.sob.pure.measures.report import published_report
from auditapp.sob.pure.showing.figures import TASKS, Entry, in_words

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 640, 28, 130, 20, 14, 46
MOST_TICKS = 10


class Mark(NamedTuple):
    """The mean rank of one task, in the chart's own units."""

    task: str
    x: str
    rank: float


class Line(NamedTuple):
    """One target: its marks, joined by a line where there are two."""

    target: str
    y: int
    marks: list[Mark]

    @property
    def first(self) -> str:
        """Where the line begins."""
        return self.marks[0].x

    @property
    def last(self) -> str:
        """Where the line ends."""
        return self.marks[-1].x

    def find(self, task: str) -> float | None:
        """The mean rank under a task, ``None`` where it has none."""
        return next((mark.rank for mark in self.marks if mark.task == task), None)

    @property
    def ranks(self) -> list[float | None]:
        """The mean ranks in the order of the tasks."""
        return [self.find(task) for task in TASKS]

    @property
    def published(self) -> list[float | None]:
        """The mean ranks of the published scores, likewise; none for a target that the paper has not."""
        return [ranks.get(self.target) for ranks in find_published_ranks()]


@cache
def find_published_ranks() -> list[Mapping[str, float]]:
    """The mean rank of each of the paper's ten targets over its twelve models, in the order of the tasks (Table 4)."""
    tests = published_report().friedman
    by_task = {test.task: test.mean_ranks for test in tests if test.blocks == "models"}
    return [by_task[task] for task in TASKS]


class Tick(NamedTuple):
    """A rank on the axis."""

    rank: int
    x: str


class RankPlot(NamedTuple):
    """Targets from the highest mean rank to the lowest; the right end of the axis is the highest sob."""

    width: int
    height: int
    axis: int
    lines: list[Line]
    ticks: list[Tick]
    treatments: int
    told: str


def draw_rank_plot(tests: Sequence[Entry]) -> RankPlot | None:
    """The plot of Friedman tests, one per task; ``None`` where none could be computed."""
    ranks = {test["task"]: test["mean_ranks"] for test in tests if test.get("mean_ranks")}
    if not ranks:
        return None
    targets = list(dict.fromkeys(target for by_target in ranks.values() for target in by_target))
    treatments = len(targets)
    first = next(task for task in TASKS if task in ranks)
    targets.sort(key=lambda target: (-ranks[first].get(target, 0.0), target))
    lines = [
        Line(
            target,
            TOP + ROW * place + ROW // 2,
            [
                Mark(task, _find_x(ranks[task][target], treatments), ranks[task][target])
                for task in TASKS
                if target in ranks.get(task, {})
            ],
        )
        for place, target in enumerate(targets)
    ]
    axis = TOP + ROW * treatments
    step = -(-treatments // MOST_TICKS)
    shown = sorted({1, *range(step, treatments + 1, step), treatments})
    ticks = [Tick(rank, _find_x(rank, treatments)) for rank in shown]
    told = "; ".join(
        f"{line.target}: " + ", ".join(f"{in_words(mark.task)} {mark.rank:.2f}" for mark in line.marks)
        for line in lines
    )
    return RankPlot(WIDTH, axis + BOTTOM, axis, lines, ticks, treatments, told)


def _find_x(rank: float, treatments: int) -> str:
    share = (rank - 1) / (treatments - 1) if treatments > 1 else 0.5
    return f"{LEFT + share * (WIDTH - LEFT - RIGHT):.1f}"
