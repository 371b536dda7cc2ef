"""Where the steps of a queue's limiter lie in a chart; the table beside it holds the same figures."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN = 600, 120, 6
RATE_LIMITED = "rate_limited"
MARKED = {RATE_LIMITED, "setting", "start"}


class Step(NamedTuple):
    """From ``at`` on, ``limit`` calls in flight were allowed."""

    at: datetime.datetime
    limit: int
    cause: str


class Mark(NamedTuple):
    """A step that growth did not cause (a rate limit, a person, a new runner), in the chart's own units."""

    x: str
    y: str
    cause: str


class LimitChart(NamedTuple):
    """A line of steps from 0 at the bottom to ``highest`` at the top; ``told`` says in words what it shows."""

    width: int
    height: int
    path: str
    marks: list[Mark]
    highest: int
    last: int
    first_at: datetime.datetime
    last_at: datetime.datetime
    told: str


def lay_out_limits(steps: Sequence[Step], *, until: datetime.datetime | None = None) -> LimitChart | None:
    """The chart of ``steps`` in their order in time, drawn on to ``until``; ``None`` when there is none."""
    if not steps:
        return None
    first_at = steps[0].at
    last_at = max(steps[-1].at, until or steps[-1].at)
    span = max((last_at - first_at).total_seconds(), 0.001)
    highest = max(step.limit for step in steps)

    def place(step: Step) -> tuple[str, str]:
        along = (step.at - first_at).total_seconds() / span
        up = step.limit / max(highest, 1)
        return f"{MARGIN + along * (WIDTH - 2 * MARGIN):.1f}", f"{HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN):.1f}"

    places = [place(step) for step in steps]
    path = f"M{places[0][0]},{places[0][1]}" + "".join(f"H{x}V{y}" for x, y in places[1:]) + f"H{WIDTH - MARGIN}"
    marks = [Mark(x, y, step.cause) for step, (x, y) in zip(steps[1:], places[1:], strict=True) if step.cause in MARKED]
    return LimitChart(
        width=WIDTH,
        height=HEIGHT,
        path=path,
        marks=marks,
        highest=highest,
        last=steps[-1].limit,
        first_at=first_at,
        last_at=last_at,
        told=_tell(steps, highest),
    )


def _tell(steps: Sequence[Step], highest: int) -> str:
    episodes = sum(step.cause == RATE_LIMITED for step in steps)
    lowered = {0: "never lowered by a rate limit", 1: "lowered once by a rate limit"}.get(
        episodes, f"lowered {episodes} times by rate limits"
    )
    return f"Calls in flight allowed: {steps[0].limit} at first, {highest} at most, {steps[-1].limit} now; {lowered}."
