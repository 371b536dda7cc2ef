"""The caveats of every figure of a batch, on pages and in files: what is missing, and what cannot be compared."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import Count

from auditapp.batches.models import Batch, Cell
from auditapp.llm.queries import list_noted
from auditapp.sob.pure.instruments import BASE_TASK, load_instruments

NOT_COMPARABLE = "Not comparable with the published figures, because the wording is not a published one."


def list_notices(batch: Batch) -> tuple[str, ...]:
    """The caveats of a batch that its answers do not show: what is missing, a wording that is not comparable, and the notes
    on its models."""
    noted = list_noted(arm.variant for arm in batch.arms.select_related("variant"))
    notes = [f"{variant.label}: {variant.note}" for variant in noted]
    return tuple(filter(None, [describe_unfinished(batch), "" if is_comparable(batch) else NOT_COMPARABLE, *notes]))


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


def is_comparable(batch: Batch) -> bool:
    """Whether every scored task was asked in a published wording."""
    asked = batch.arms.exclude(task=BASE_TASK).values_list("settings", "prompt_hash")
    return all(str(settings.get("sha256") or prompt_hash) in list_published_hashes() for settings, prompt_hash in asked)


def list_wordings(batch: Batch) -> list[dict[str, Any]]:
    """The wordings of a batch, each once; ``comparable`` says that it is a published one."""
    found = {}
    for task, settings, prompt_hash in batch.arms.values_list("task", "settings", "prompt_hash"):
        sha256 = str(settings.get("sha256") or prompt_hash)
        found[task, sha256] = {
            "task": task,
            "name": str(settings.get("instrument") or "of its own"),
            "sha256": sha256,
            "comparable": sha256 in list_published_hashes(),
        }
    return [wording for _, wording in sorted(found.items())]


@cache
def list_published_hashes() -> frozenset[str]:
    """The hashes of the published wordings of the scored tasks."""
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)
