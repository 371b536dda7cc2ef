"""The plays of a batch as a table of cases by conditions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from auditapp.batches.models import Arm, Batch
from auditapp.scenarios.models import Play
from auditapp.scenarios.queries.runs import run_plays


class MatrixRow(NamedTuple):
    """One case: its name and its plays, in lists of one arm each, in the order of the arms."""

    case: str
    plays: list[list[Play]]


def read_matrix(batch: Batch) -> tuple[list[Arm], list[MatrixRow]]:
    """The arms of a batch, and its cases by name with twins in a row. Two queries."""
    arms = list(batch.arms.select_related("variant__account").order_by("pk"))
    places = {arm.pk: place for place, arm in enumerate(arms)}
    cases: dict[str, list[list[Play]]] = {}
    plays = run_plays(batch).select_related("script", "interview").order_by("script__name", "repeat", "pk")
    for play in plays:
        own = cases.setdefault(play.script.label, [[] for _ in arms])
        own[places[play.arm_id or 0]].append(play)
    return arms, [MatrixRow(case, own) for case, own in cases.items()]


def list_labels(batch: Batch) -> list[tuple[int, str]]:
    """The threads that came of a batch, by their titles: nothing of which case or condition each is. One query."""
    rows: Iterable[tuple[int, str]] = (
        run_plays(batch)
        .filter(interview__project=batch.project_id)
        .values_list("interview", "interview__title")
        .order_by("interview__title")
    )
    return list(rows)
