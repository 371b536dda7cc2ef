"""The caveats of every figure of a batch, on pages and in files: what is missing, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db.models import Count

from auditapp.batches.models import Batch, Cell
from auditapp.llm.queries import list_noted
from auditapp.sob.pure.instruments import BASE_TASK, load_instruments
from auditapp.sob.queries.arms import AskedArm

NOT_COMPARABLE = "Not comparable with the published figures, because the wording is not a published one."


def list_notices(arms: Sequence[AskedArm]) -> list[str]:
    """The caveats of a batch that its answers do not show: a wording that is not comparable, and the notes on its models."""
    notes = [f"{variant.label}: {variant.note}" for variant in list_noted(arm.variant for arm in arms)]
    return [*([] if is_comparable(arms) else [NOT_COMPARABLE]), *notes]


def count_cells(batch: Batch) -> dict[str, int]:
    """The cells of a batch: all, those that were answered or failed, and those that were cancelled. Needs only an index."""
    states = dict(Cell.objects.filter(batch=batch).order_by().values_list("state").annotate(n=Count("pk")))
    return {
        "cells": sum(states.values()),
        "ended": states.get(Cell.State.DONE, 0) + states.get(Cell.State.FAILED, 0),
        "cancelled": states.get(Cell.State.CANCELLED, 0),
    }


def describe_unfinished(batch: Batch) -> str:
    """A sentence that says how much of the batch is missing; "" if every cell has ended."""
    cells, ended, cancelled = count_cells(batch).values()
    if ended == cells:
        return ""
    waiting = cells - ended - cancelled
    parts = [f"{waiting:,} {'is' if waiting == 1 else 'are'} not answered yet"] if waiting else []
    if cancelled:
        parts.append(f"{cancelled:,} {'was' if cancelled == 1 else 'were'} cancelled")
    return (
        f"The batch is not complete (state: {batch.get_state_display().lower()}): {ended:,} of {cells:,} cells "
        f"have ended, {' and '.join(parts)}. The figures cover the answers so far."
    )


def is_comparable(arms: Sequence[AskedArm]) -> bool:
    """Whether every scored task was asked in a published wording."""
    return all(arm.sha256 in list_published_hashes() for arm in arms if arm.task != BASE_TASK)


def list_wordings(arms: Sequence[AskedArm]) -> list[dict[str, Any]]:
    """The wordings of a batch, each once; ``comparable`` says that it is a published one."""
    found = {
        (arm.task, arm.sha256): {
            "task": arm.task,
            "name": str(arm.settings.get("instrument") or "of its own"),
            "sha256": arm.sha256,
            "comparable": arm.sha256 in list_published_hashes(),
        }
        for arm in arms
    }
    return [wording for _, wording in sorted(found.items())]


@cache
def list_published_hashes() -> frozenset[str]:
    """The hashes of the published wordings of the scored tasks."""
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)
