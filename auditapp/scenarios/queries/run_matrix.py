"""The plays of a batch as a table of cases by conditions."""

from __future__ import annotations

from typing import NamedTuple

from auditapp.batches.models import Arm, Batch
from auditapp.scenarios.models import Play
from auditapp.scenarios.queries.runs import run_plays
from transcripts.corpus.models import Interview


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


def list_labels(batch: Batch) -> list[Interview]:
    """The threads that came of a batch, by the labels under which they were masked: nothing of which case or condition each is, for
    the titles of those that are unmasked name both. One query."""
    plays = run_plays(batch).filter(interview__project=batch.project_id)
    threads = Interview.objects.filter(pk__in=plays.values("interview"))
    return list(threads.only("pk", "mask_label", "unmasked_at").order_by("mask_label"))
