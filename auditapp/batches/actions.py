"""What a person does with batches: launch, pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches import tasks
from auditapp.batches.kinds import get_kind
from auditapp.batches.models import Arm, Batch, Cell, Lane
from auditapp.batches.money import to_nano
from auditapp.batches.prompts import hash_prompt
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

INSERT_SIZE = 2000
HIGHEST_CAP = 1_000_000


class BatchError(Exception):
    """A sentence for the person who asked."""


class PlannedArm(NamedTuple):
    """An arm to be: a variant, a task and the exact instructions. ``settings`` is the feature's own."""

    variant: ModelVariant
    task: str
    system_prompt: str
    settings: dict[str, object] = {}


@transaction.atomic
def launch_batch(
    *,
    project: Project,
    kind: str,
    title: str,
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    by: trail.Actor,
    repeats: int = 1,
    cap_usd: Decimal | None = None,
    concurrency: int = 30,
    parameters: dict[str, object] | None = None,
) -> Batch:
    """Plan the grid ``input_ids`` x ``arms`` x ``repeats`` and ring its lanes. Raises ``BatchError``."""
    get_kind(kind)
    _check_launch(arms, input_ids, repeats, cap_usd, concurrency)
    batch = Batch.objects.create(
        project=project,
        kind=kind,
        title=title,
        parameters=parameters or {},
        concurrency=concurrency,
        cap_nano=None if cap_usd is None else to_nano(cap_usd),
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
        created_at=timezone.now(),
    )
    cells = 0
    for planned in arms:
        cells += _plan_arm(batch, planned, input_ids, repeats)
    lanes = [Lane.objects.create(batch=batch, name=name) for name in sorted({planned.variant.lane for planned in arms})]
    trail.record(
        "batch.launched",
        target=batch,
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "kind": kind,
            "cells": cells,
            "arms": [f"{arm.variant.label} {arm.task}" for arm in arms],
            "cap_usd": str(cap_usd),
        },
    )
    _ring(lanes)
    return batch


def _check_launch(
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    repeats: int,
    cap_usd: Decimal | None,
    concurrency: int,
) -> None:
    if not arms:
        raise BatchError("Choose at least one model and one task.")
    if not input_ids:
        raise BatchError("There is nothing to read: no text fits the choice.")
    if repeats < 1 or not 1 <= concurrency <= 1000:
        raise BatchError("Repeats are at least 1; calls in flight lie between 1 and 1,000.")
    if cap_usd is not None:
        if not cap_usd.is_finite() or not 0 < cap_usd <= HIGHEST_CAP:
            raise BatchError("A cap is more than nothing and at most a million dollars; leave it out for no cap.")
        unpriced = sorted(
            {arm.variant.label for arm in arms if arm.variant.price_in is None or arm.variant.price_out is None}
        )
        if unpriced:
            raise BatchError(
                f"A cap needs prices, and these models have none: {', '.join(unpriced)}. Add them with --price-in and --price-out."
            )


def _plan_arm(batch: Batch, planned: PlannedArm, input_ids: Sequence[int], repeats: int) -> int:
    arm = Arm.objects.create(
        batch=batch,
        variant=planned.variant,
        task=planned.task,
        system_prompt=planned.system_prompt,
        prompt_hash=hash_prompt(planned.system_prompt),
        settings=planned.settings,
        price_in=planned.variant.price_in,
        price_out=planned.variant.price_out,
    )
    cells = [
        Cell(batch=batch, arm=arm, input_id=input_id, repeat=repeat)
        for repeat in range(1, repeats + 1)
        for input_id in input_ids
    ]
    Cell.objects.bulk_create(cells, batch_size=INSERT_SIZE)
    return len(cells)


def _ring(lanes: Sequence[Lane]) -> None:
    for lane in lanes:
        transaction.on_commit(partial(tasks.ring, lane.pk))


@transaction.atomic
def pause_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Send no new call; those in flight come to their end and are stored."""
    _change(
        batch,
        by,
        "batch.paused",
        {Batch.State.RUNNING},
        state=Batch.State.PAUSED,
        control=Batch.Control.PAUSE,
    )


@transaction.atomic
def resume_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Go on with a paused batch."""
    _change(batch, by, "batch.resumed", {Batch.State.PAUSED}, state=Batch.State.RUNNING, control=Batch.Control.RUN)
    _ring(list(batch.lanes.all()))


@transaction.atomic
def cancel_batch(*, batch: Batch, by: trail.Actor) -> None:
    """End a batch: cells that are only planned are cancelled, calls in flight come to their end."""
    open_states = {Batch.State.RUNNING, Batch.State.PAUSED}
    _change(batch, by, "batch.cancelled", open_states, state=Batch.State.CANCELLED, control=Batch.Control.CANCEL)
    Batch.objects.filter(pk=batch.pk).update(finished_at=timezone.now())
    Cell.objects.filter(batch=batch, state=Cell.State.PLANNED).update(state=Cell.State.CANCELLED)


def _change(batch: Batch, by: trail.Actor, action: str, allowed: Collection[str], *, state: str, control: str) -> None:
    locked = Batch.objects.select_for_update().get(pk=batch.pk)
    if locked.state not in allowed:
        raise BatchError(f"The batch is {locked.get_state_display().lower()}; that cannot be done now.")
    Batch.objects.filter(pk=batch.pk).update(state=state, control=control, state_reason="")
    batch.refresh_from_db()
    trail.record(
        action,
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={"before": locked.state},
    )
