"""Launching a batch: what is refused, which rows of prices and capabilities it pins, its cells and its pilot."""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import ROUND_UP, Decimal
from typing import NamedTuple

from django.db import IntegrityError, transaction

from auditapp.batches.actions.changes import BatchError, ring_lanes
from auditapp.batches.actions.control import check_concurrency
from auditapp.batches.actions.money import check_cap, refuse_cap_of_file
from auditapp.batches.clock import read_now
from auditapp.batches.kinds import get_kind
from auditapp.batches.models import Arm, Batch, Cell, Lane
from auditapp.batches.prompts import hash_prompt
from auditapp.batches.queries import insert_cells
from auditapp.llm.models import Capabilities, ModelVariant, Price
from auditapp.llm.queries import find_capabilities, find_prices
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

FILE_PROVIDER = "file"
PRICE_PLACES = Decimal("0.000001")
MARKED_AT_ONCE = 1000
MOST_REPEATS = 1000
PILOT_STATES = {True: Batch.State.PILOT, False: Batch.State.RUNNING}


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
    pilot: int = 0,
    lost_answers: str = "retry",
    uses_cache: bool = False,
    route: str = "live",
    client_id: uuid.UUID | None = None,
) -> Batch:
    """Plan the grid ``input_ids`` x ``arms`` x ``repeats`` and ring its lanes. Raises ``BatchError``.

    ``pilot`` calls of each arm, drawn at random, go first; the rest waits for ``confirm_batch``. Where no arm has more cells
    than that there is no pilot. The same ``client_id`` again gives the batch that it made.
    """
    standing = _find_standing(project, client_id)
    if standing is not None:
        return standing
    get_kind(kind)
    prices, capabilities = _read_rows(arms)
    cap_nano = check_launch(
        arms, input_ids, repeats=repeats, pilot=pilot, route=route, concurrency=concurrency, cap_usd=cap_usd
    )
    cells_each = len(input_ids) * repeats
    pilot = pilot if cells_each > pilot else 0
    batch = Batch(
        project=project,
        kind=kind,
        title=title,
        parameters=parameters or {},
        client_id=client_id,
        route=Batch.Route(route),
        lost_answers=Batch.LostAnswers(lost_answers),
        uses_cache=uses_cache,
        pilot_cells=pilot * len(arms),
        state=PILOT_STATES[pilot > 0],
        concurrency=concurrency,
        cap_nano=cap_nano,
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
        created_at=read_now(),
    )
    standing = _save_once(batch)
    if standing is not None:
        return standing
    _plan_cells(batch, [_make_arm(batch, arm, prices, capabilities) for arm in arms], input_ids, repeats, pilot)
    _open_lanes(batch, arms)
    _record_launch(batch, arms, cells_each, cap_usd, by)
    return batch


def check_launch(
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    *,
    repeats: int = 1,
    pilot: int = 0,
    route: str = "live",
    concurrency: int = 30,
    cap_usd: Decimal | None = None,
) -> int | None:
    """Raise ``BatchError`` for what no launch takes; whoever shows a launch first asks here too. Gives the cap in whole
    nanodollars."""
    prices, capabilities = _read_rows(arms)
    _check_grid(arms, input_ids, repeats, pilot)
    _check_route(arms, route, pilot, capabilities)
    check_concurrency(concurrency)
    cap_nano = check_cap(cap_usd, [arm.variant.label for arm in arms if arm.variant.pk not in prices])
    refuse_cap_of_file(route, cap_nano)
    return cap_nano


def _find_standing(project: Project, client_id: uuid.UUID | None) -> Batch | None:
    if client_id is None:
        return None
    standing = Batch.objects.filter(client_id=client_id).first()
    if standing is not None and standing.project_id != project.pk:
        raise BatchError(
            "This form has launched a batch of another study already. Open it again and send it once more."
        )
    return standing


def _save_once(batch: Batch) -> Batch | None:
    """Write the batch, unless somebody pressed twice and the other press was first: then that batch is given back."""
    try:
        with transaction.atomic():
            batch.save(force_insert=True)
    except IntegrityError:
        standing = _find_standing(batch.project, batch.client_id)
        if standing is None:
            raise
        return standing
    return None


def _open_lanes(batch: Batch, arms: Sequence[PlannedArm]) -> None:
    lanes = [Lane.objects.create(batch=batch, name=name) for name in sorted({arm.variant.lane for arm in arms})]
    if batch.route != Batch.Route.FILE:
        ring_lanes(lanes)


def _read_rows(arms: Sequence[PlannedArm]) -> tuple[dict[int, Price], dict[int, Capabilities]]:
    variants = {arm.variant.pk: arm.variant for arm in arms}.values()
    return find_prices(variants), find_capabilities(variants)


def _check_grid(arms: Sequence[PlannedArm], input_ids: Sequence[int], repeats: int, pilot: int) -> None:
    if not arms:
        raise BatchError("Choose at least one model and one task.")
    if len({(arm.variant.pk, arm.task, arm.system_prompt) for arm in arms}) < len(arms):
        raise BatchError("Name each model and each task once.")
    if not input_ids:
        raise BatchError("There is nothing to read: no text fits the choice.")
    if len(set(input_ids)) < len(input_ids):
        raise BatchError("Name each text once; repeats ask for more than one answer.")
    if not 1 <= repeats <= MOST_REPEATS:
        raise BatchError(f"Repeats lie between 1 and {MOST_REPEATS:,}.")
    if pilot < 0:
        raise BatchError("A pilot is a number of calls per model and task; 0 means none.")


def _check_route(arms: Sequence[PlannedArm], route: str, pilot: int, capabilities: Mapping[int, Capabilities]) -> None:
    """Each way of asking fits some accounts only. Reads variant.account."""
    with_file = sorted({arm.variant.label for arm in arms if arm.variant.provider == FILE_PROVIDER})
    others = sorted({arm.variant.label for arm in arms if arm.variant.provider != FILE_PROVIDER})
    if route == Batch.Route.FILE and others:
        raise BatchError(
            f"Answers come in as a file only for models of an account that says so; {', '.join(others)} can be asked directly."
        )
    if route != Batch.Route.FILE and with_file:
        raise BatchError(
            f"Nobody can be asked at the account of {', '.join(with_file)}: its answers come in as a file. Choose that route."
        )
    if route == Batch.Route.FILE and pilot:
        raise BatchError("A batch whose answers come in as a file has no pilot.")
    if route == Batch.Route.JOBS:
        without = {arm.variant.label for arm in arms if not _offers_batches(arm, capabilities)}
        if without:
            raise BatchError(
                f"No batch service of the provider is known for {', '.join(sorted(without))}. Ask live, or record that the "
                "model offers one."
            )


def _offers_batches(arm: PlannedArm, capabilities: Mapping[int, Capabilities]) -> bool:
    row = capabilities.get(arm.variant.pk)
    return row is not None and row.offers_batches


def _make_arm(
    batch: Batch, planned: PlannedArm, prices: Mapping[int, Price], capabilities: Mapping[int, Capabilities]
) -> Arm:
    price = prices.get(planned.variant.pk)
    share = price.batch_share if price and batch.route == Batch.Route.JOBS else Decimal(1)
    return Arm.objects.create(
        batch=batch,
        variant=planned.variant,
        task=planned.task,
        system_prompt=planned.system_prompt,
        prompt_hash=hash_prompt(planned.system_prompt),
        settings=planned.settings,
        price_in=_share(price.price_in, share) if price else None,
        price_out=_share(price.price_out, share) if price else None,
        price=price,
        capabilities=capabilities.get(planned.variant.pk),
    )


def _share(price: Decimal, share: Decimal) -> Decimal:
    """Rounded up: what is reserved must never lie below what is billed."""
    return (Decimal(price) * share).quantize(PRICE_PLACES, rounding=ROUND_UP)


def _plan_cells(batch: Batch, arms: Sequence[Arm], input_ids: Sequence[int], repeats: int, pilot: int) -> None:
    insert_cells(batch_id=batch.pk, arm_ids=[arm.pk for arm in arms], input_ids=input_ids, repeats=repeats)
    if not pilot:
        return
    for arm in arms:
        drawn = draw_pilot(input_ids, repeats, pilot, seed=f"batch {batch.pk} arm {arm.pk}")
        for repeat, ids in drawn.items():
            for start in range(0, len(ids), MARKED_AT_ONCE):
                chosen = ids[start : start + MARKED_AT_ONCE]
                Cell.objects.filter(arm=arm, repeat=repeat, input_id__in=chosen).update(pilot=True)


def draw_pilot(input_ids: Sequence[int], repeats: int, count: int, *, seed: str) -> dict[int, list[int]]:
    """``count`` cells of an arm as inputs by repeat: a simple random sample, the same for the same seed.

    At random and not the first ones, because texts come in an order: what the first cost says little of the rest.
    """
    places = random.Random(seed).sample(range(len(input_ids) * repeats), count)  # noqa: S311 - a sample, not a secret
    drawn: dict[int, list[int]] = defaultdict(list)
    for place in places:
        repeat, position = divmod(place, len(input_ids))
        drawn[repeat + 1].append(input_ids[position])
    return dict(drawn)


def _record_launch(
    batch: Batch, arms: Sequence[PlannedArm], cells_each: int, cap_usd: Decimal | None, by: trail.Actor
) -> None:
    trail.record(
        "batch.launched",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={
            "kind": batch.kind,
            "cells": cells_each * len(arms),
            "pilot": batch.pilot_cells,
            "arms": [f"{arm.variant.label} {arm.task}" for arm in arms],
            "cap_usd": str(cap_usd),
            "route": str(batch.route),
            "lost_answers": str(batch.lost_answers),
        },
    )
