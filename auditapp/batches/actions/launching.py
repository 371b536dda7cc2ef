"""Launching a batch: what is refused, which rows of prices and capabilities it pins, its cells and its pilot."""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import ROUND_UP, Decimal
from typing import NamedTuple, TypedDict, Unpack

from django.db import IntegrityError, transaction

from auditapp.batches.actions.changes import BatchError, ring_lanes
from auditapp.batches.actions.control import check_concurrency
from auditapp.batches.actions.launched import ASKED, digest_asked, find_launched
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
    """An arm to be: a variant, a task and the exact instructions. ``settings`` is the feature's own.

    ``input_ids`` are inputs of its own, in place of the batch's. Arms of one model with the same ``messages`` (not "")
    send the same user message for the same input, so that a review writes it once.
    """

    variant: ModelVariant
    task: str
    system_prompt: str
    settings: dict[str, object] = {}
    input_ids: Sequence[int] | None = None
    messages: str = ""

    def list_inputs(self, of_batch: Sequence[int]) -> Sequence[int]:
        """The inputs that it is asked about, in a batch of these."""
        return of_batch if self.input_ids is None else self.input_ids


class Sending(TypedDict, total=False):
    """How a batch is sent; what is not said is as ``_choose_sending`` has it."""

    cap_usd: Decimal | None
    concurrency: int
    pilot: int
    lost_answers: str
    uses_cache: bool
    route: str
    client_id: uuid.UUID | None


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
    parameters: dict[str, object] | None = None,
    asked: str = "",
    **sending: Unpack[Sending],
) -> Batch:
    """Plan the grid ``input_ids`` x ``arms`` x ``repeats`` and ring its lanes. Raises ``BatchError``.

    An arm with inputs of its own is asked about those. ``pilot`` calls of each arm, drawn at random, go first (of a smaller
    arm all); the rest waits for ``confirm_batch``. Where no arm has more cells than that there is no pilot. The same
    ``client_id`` again gives the batch that it made, unless it asks for something else: ``asked`` is ``digest_asked`` of
    whoever looked for that batch before planning.
    """
    client_id = sending.get("client_id")
    asked = asked or _digest_plan(kind, arms, input_ids, sending | {"repeats": repeats}) if client_id else ""
    standing = find_launched(project, client_id, asked)
    if standing is not None:
        return standing
    get_kind(kind)
    batch = Batch(project=project, kind=kind, title=title, parameters=parameters or {}, created_at=read_now())
    if asked:
        batch.parameters |= {ASKED: asked}
    batch.launched_by, batch.launched_by_name = by if isinstance(by, User) else None, by.get_username()
    pilots = _choose_sending(batch, arms, input_ids, repeats=repeats, **sending)
    standing = _save_once(batch)
    if standing is not None:
        return standing
    _plan_grid(batch, arms, input_ids, repeats, pilots)
    _open_lanes(batch, arms)
    cells = sum(count_cells(arms, input_ids, repeats=repeats))
    _record_launch(batch, arms, cells, sending.get("cap_usd"), by)
    return batch


def _digest_plan(kind: str, arms: Sequence[PlannedArm], input_ids: Sequence[int], sending: Mapping[str, object]) -> str:
    return digest_asked(
        kind,
        sending,
        arms=[[arm.variant.pk, arm.task, hash_prompt(arm.system_prompt), arm.settings] for arm in arms],
        inputs=[list(ids) for ids in {id(ids): ids for ids in (arm.list_inputs(input_ids) for arm in arms)}.values()],
    )


def _choose_sending(
    batch: Batch,
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    *,
    repeats: int,
    cap_usd: Decimal | None = None,
    concurrency: int = 30,
    pilot: int = 0,
    lost_answers: str = "retry",
    uses_cache: bool = False,
    route: str = "live",
    client_id: uuid.UUID | None = None,
) -> list[int]:
    """Put on a batch that is not stored yet how it is sent; how many calls of each arm go first."""
    batch.cap_nano = check_launch(
        arms, input_ids, repeats=repeats, pilot=pilot, route=route, concurrency=concurrency, cap_usd=cap_usd
    )
    batch.client_id, batch.concurrency, batch.uses_cache = client_id, concurrency, uses_cache
    batch.route, batch.lost_answers = Batch.Route(route), Batch.LostAnswers(lost_answers)
    pilots = count_pilots(count_cells(arms, input_ids, repeats=repeats), pilot)
    batch.pilot_cells, batch.state = sum(pilots), PILOT_STATES[any(pilots)]
    return pilots


def count_cells(arms: Sequence[PlannedArm], input_ids: Sequence[int], *, repeats: int) -> list[int]:
    """How many cells each of the arms would have."""
    return [len(arm.list_inputs(input_ids)) * repeats for arm in arms]


def count_pilots(cells: Sequence[int], pilot: int) -> list[int]:
    """How many calls of each arm go first; none at all where that would be all of the batch."""
    has_pilot = max(cells, default=0) > pilot
    return [min(pilot, count) if has_pilot else 0 for count in cells]


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


def _save_once(batch: Batch) -> Batch | None:
    """Write the batch, unless somebody pressed twice and the other press was first: then that batch is given back."""
    try:
        with transaction.atomic():
            batch.save(force_insert=True)
    except IntegrityError:
        standing = find_launched(batch.project, batch.client_id, batch.parameters.get(ASKED, ""))
        if standing is None:
            raise
        return standing
    return None


def _plan_grid(
    batch: Batch, arms: Sequence[PlannedArm], input_ids: Sequence[int], repeats: int, pilots: Sequence[int]
) -> None:
    """The batch's arms with the rows they pin, its cells, and which of them go first."""
    prices, capabilities = _read_rows(arms)
    stored = [_make_arm(batch, arm, prices, capabilities) for arm in arms]
    inputs = [arm.list_inputs(input_ids) for arm in arms]
    _plan_cells(batch, stored, inputs, repeats)
    _mark_pilots(batch, stored, inputs, repeats, pilots)


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
    inputs = {id(ids): ids for ids in (arm.list_inputs(input_ids) for arm in arms)}
    if not all(inputs.values()):
        raise BatchError("There is nothing to read: no text fits the choice.")
    if any(len(set(ids)) < len(ids) for ids in inputs.values()):
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


def _plan_cells(batch: Batch, arms: Sequence[Arm], inputs: Sequence[Sequence[int]], repeats: int) -> None:
    """Arms that are asked about the same inputs are planned in one statement."""
    together: dict[int, list[int]] = defaultdict(list)
    for place, ids in enumerate(inputs):
        together[id(ids)].append(place)
    for places in together.values():
        arm_ids = [arms[place].pk for place in places]
        insert_cells(batch_id=batch.pk, arm_ids=arm_ids, input_ids=inputs[places[0]], repeats=repeats)


def _mark_pilots(
    batch: Batch, arms: Sequence[Arm], inputs: Sequence[Sequence[int]], repeats: int, pilots: Sequence[int]
) -> None:
    for arm, ids, pilot in zip(arms, inputs, pilots, strict=True):
        drawn = draw_pilot(ids, repeats, pilot, seed=f"batch {batch.pk} arm {arm.pk}")
        for repeat, marked in drawn.items():
            for start in range(0, len(marked), MARKED_AT_ONCE):
                chosen = marked[start : start + MARKED_AT_ONCE]
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
    batch: Batch, arms: Sequence[PlannedArm], cells: int, cap_usd: Decimal | None, by: trail.Actor
) -> None:
    trail.record(
        "batch.launched",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={
            "kind": batch.kind,
            "cells": cells,
            "pilot": batch.pilot_cells,
            "arms": [f"{arm.variant.label} {arm.task}" for arm in arms],
            "cap_usd": str(cap_usd),
            "route": str(batch.route),
            "lost_answers": str(batch.lost_answers),
        },
    )
