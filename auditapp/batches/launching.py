"""Launch a batch: validate it, pin its prices and capabilities, plan its cells and its pilot. A launch that is sent twice returns
the batch that was made the first time.

Batches that grow: a person asks one question at a time, and asks the next one only when she has read the answer.

Such a batch is launched with ``stays_open`` (``LaunchPlan``), with or without first cells. ``add_cell`` adds one and sends it at
once; ``close_batch`` ends the batch with its last cell. In between, everything works as for any batch: cap, pause, cancel,
recovery. Workers reserve capacity for these batches, however large the other batches are (``runner.slots``).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import ROUND_UP, Decimal
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction

from auditapp.batches.actions import (
    change_batch,
    check_cap,
    check_concurrency,
    commit_cap,
    lock_batch,
    notify_queues,
    read_name,
    refuse_cap_of_file,
    refuse_ended,
    refuse_too_many,
)
from auditapp.batches.grants import check_money, find_asked_at
from auditapp.batches.grids import STORING, Grid, draw_pilots, is_large, plan_at_once, plan_by_parts
from auditapp.batches.kinds import get_kind
from auditapp.batches.ledger.batch_state import finish_if_complete
from auditapp.batches.ledger.conversations import FAILED_FOR_GOOD, fail_cells, fail_followers
from auditapp.batches.ledger.prompts import compute_highest_price, hash_prompt, make_request, write_requests
from auditapp.batches.models import WORKING_STATES, Arm, Batch, Cell
from auditapp.batches.pure.conversations import OutOfOrder, count_drawn, list_conversations
from auditapp.batches.pure.estimates import to_dollars, to_nano
from auditapp.llm.actions import CALLS_NOBODY
from auditapp.llm.models import Capabilities, ModelVariant, Price
from auditapp.llm.providers import write_body
from auditapp.llm.providers.base import SettingRefused
from auditapp.llm.queries import find_capabilities, find_prices, is_open_ended
from auditapp.outbound.clock import read_now
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

MAX_REPEATS = 1000
DEFAULT_PILOT = 30
PILOT_SHARE = 10


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """The part of a launch that does not depend on what is asked.

    ``pilot``: calls of each arm that are sent first, 0 for no pilot, ``None`` for as many as ``settle_pilot`` says. ``route`` and
    ``lost_answers`` are values of ``Batch.Route`` and ``Batch.LostAnswers``. Two launches with the same ``idempotency_key`` make
    one batch. A batch without a ``name`` is named after what it asks.
    """

    name: str = ""
    repeats: int = 1
    concurrency: int = 30
    pilot: int | None = 0
    cap_usd: Decimal | None = None
    route: str = "live"
    lost_answers: str = "retry"
    uses_cache: bool = False
    idempotency_key: uuid.UUID | None = None


DEFAULT_OPTIONS = LaunchOptions()

ASKED = "asked"
OF_ANOTHER_STUDY = (
    "This form has already launched a batch in another study. Open the form again and resubmit it. (In a program, send another "
    "idempotency key.)"
)
ASKS_OTHERWISE = (
    "This form has already launched batch {batch}, with other settings, so nothing was launched now. To launch this batch too, "
    "review it and launch again. (In a program, send another idempotency key.)"
)


def digest_asked(kind: str, options: LaunchOptions, **asked: object) -> str:
    """SHA-256 of what a launch asks for and how it is sent: the same if a form is sent again, different if the form was changed.

    ``asked`` contains ids and names, in a stable order.
    """
    how = {name: str(value) for name, value in asdict(options).items() if name not in {"idempotency_key", "name"}}
    return hashlib.sha256(json.dumps([kind, how, asked], sort_keys=True).encode()).hexdigest()


def find_launched(study: Study, idempotency_key: uuid.UUID | None, asked: str) -> Batch | None:
    """The batch that was already launched with this key, if any.

    Raises ``Refused`` if that batch belongs to another study, or if the launch asked for something else then: ``asked`` is
    ``digest_asked`` of the launch.
    """
    if idempotency_key is None:
        return None
    launched = Batch.objects.filter(idempotency_key=idempotency_key).first()
    if launched is None:
        return None
    if launched.study_id != study.pk:
        raise Refused(OF_ANOTHER_STUDY)
    if launched.parameters.get(ASKED, asked) != asked:
        raise Refused(ASKS_OTHERWISE.format(batch=launched.pk))
    return launched


FILE_PROVIDER = "file"
PRICE_PLACES = Decimal("0.000001")


class PlannedArm(NamedTuple):
    """An arm to be created: a variant, a task and the exact instructions. ``settings`` belongs to the feature.

    ``input_ids`` replace the batch's inputs for this arm. Arms of one model with the same ``messages`` (not "") send the same
    user message for the same input, so that a review has to write it only once.
    """

    variant: ModelVariant
    task: str
    system_prompt: str
    settings: dict[str, object] = {}
    input_ids: Sequence[int] | None = None
    messages: str = ""

    def list_inputs(self, of_batch: Sequence[int]) -> Sequence[int]:
        """The arm's inputs, in a batch with these inputs."""
        return of_batch if self.input_ids is None else self.input_ids


@dataclass(frozen=True)
class LaunchPlan:
    """What a feature asks: the arms and the inputs of the batch to be, and what the review says about them.

    ``interview_ids``: the interviews that the inputs are from, where they are from any. ``facts`` are names and values of
    what is asked, in the words of the form, or the values for ``facts_template``; each warning is a sentence, or a code
    with values for ``warning_template``. ``names`` are those of tasks that people know by another one.

    ``after`` says for an input which other input it continues, in every arm and repeat: its call waits for that one's answer and
    sends what was said before. An input is listed after the one that it continues. ``stays_open``: further cells are added one at
    a time (``add_cell``), and there may be none at first. ``expected_answer``: tokens that an answer of this kind usually
    has, from which the review says what the launch will probably cost.
    """

    kind: str
    arms: Sequence[PlannedArm]
    input_ids: Sequence[int]
    title: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    interview_ids: Sequence[int] = ()
    warnings: Sequence[str] | Sequence[Mapping[str, object]] = ()
    warning_template: str = ""
    facts: Sequence[tuple[str, str]] | Mapping[str, object] = ()
    facts_template: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[int, int] = field(default_factory=dict)
    stays_open: bool = False
    expected_answer: int | None = None


@transaction.atomic
def launch_once(
    *,
    study: Study,
    kind: str,
    plan: Callable[[], LaunchPlan],
    by: trail.Actor,
    options: LaunchOptions,
    **asked: object,
) -> Batch:
    """Launch what ``plan`` returns.

    If the same form has already launched a batch, return that batch. ``asked`` says what is asked for, in ids and names. It is
    compared before anything is planned, because the first launch may have changed what would be planned now. ``plan`` may write
    what the batch needs. Raises ``Refused``.
    """
    digest = digest_asked(kind, options, **asked)
    launched = find_launched(study, options.idempotency_key, digest)
    if launched is not None:
        return launched
    planned = plan()
    return launch_batch(
        study=study,
        kind=kind,
        title=planned.title,
        arms=planned.arms,
        input_ids=planned.input_ids,
        parameters=dict(planned.parameters),
        by=by,
        options=options,
        asked=digest,
        after=planned.after,
        stays_open=planned.stays_open,
    )


@transaction.atomic
def launch_batch(
    *,
    study: Study,
    kind: str,
    title: str,
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    by: trail.Actor,
    parameters: dict[str, object] | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
    asked: str = "",
    after: Mapping[int, int] | None = None,
    stays_open: bool = False,
) -> Batch:
    """Plan the grid inputs x arms x repeats and notify its queues. Raises ``Refused``.

    An arm with inputs of its own is asked about those. The pilot, a number of calls of each arm drawn at random, goes first (all
    of a smaller arm); the rest waits for ``confirm_batch``. Where no arm has more cells than that there is no pilot. Of
    conversations (``after``, as in ``LaunchPlan``) whole ones are drawn until they make this number. The same
    idempotency key again returns the batch that it made, unless it asks for something else: ``asked`` is ``digest_asked`` where
    the caller has it.

    The many cells of a large launch are stored once the outermost transaction is committed, and before that returns. When
    that fails the batch is cancelled.
    """
    after = after or {}
    asked = asked or _digest_plan(kind, arms, input_ids, options, after)
    launched = find_launched(study, options.idempotency_key, asked)
    if launched is not None:
        return launched
    title = read_name(options.name) if options.name.strip() else title
    get_kind(kind)
    pilot = settle_pilot(arms, input_ids, options)
    cap_nano = check_launch(arms, input_ids, options, after=after, stays_open=stays_open)
    refuse_too_many(study, by)
    cells = count_cells(arms, input_ids, repeats=options.repeats)
    pilots = count_pilots(cells, pilot, count_conversations(arms, input_ids, after, repeats=options.repeats))
    batch = Batch(
        study=study,
        kind=kind,
        title=title,
        parameters=(parameters or {}) | ({ASKED: asked} if options.idempotency_key else {}),
        idempotency_key=options.idempotency_key,
        route=Batch.Route(options.route),
        lost_answers=Batch.LostAnswers(options.lost_answers),
        uses_cache=options.uses_cache,
        has_conversations=bool(after),
        stays_open=stays_open,
        concurrency=options.concurrency,
        cap_nano=cap_nano,
        pilot_cells=sum(pilots),
        state=_choose_first_state(options.route, sum(cells), sum(pilots)),
        state_reason=STORING.format(cells=sum(cells)) if is_large(options.route, sum(cells)) else "",
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
        created_at=read_now(),
    )
    launched = _save_once(batch)
    if launched is not None:
        return launched
    stored = _add_arms(batch, arms)
    commit_cap(batch, cap_nano, by)
    inputs = [arm.list_inputs(input_ids) for arm in arms]
    queue_names = sorted({arm.variant.queue_name for arm in arms})
    grid = Grid(stored, inputs, options.repeats, pilots, queue_names, after)
    if after and any(pilots):
        # Conversations differ in length, so their calls are counted once they are drawn.
        batch.pilot_cells = sum(len(ids) for _, drawn in draw_pilots(batch, grid) for ids in drawn.values())
        batch.save(update_fields=["pilot_cells"])
    _record_launch(batch, arms, sum(cells), options.cap_usd, by)
    if is_large(options.route, sum(cells)):
        transaction.on_commit(partial(plan_by_parts, batch, grid, by=by))
    else:
        plan_at_once(batch, grid)
    return batch


def _choose_first_state(route: str, cells: int, pilot_cells: int) -> str:
    if is_large(route, cells):
        return Batch.State.PLANNING
    return Batch.State.PILOT if pilot_cells else Batch.State.RUNNING


def _digest_plan(
    kind: str, arms: Sequence[PlannedArm], input_ids: Sequence[int], options: LaunchOptions, after: Mapping[int, int]
) -> str:
    if options.idempotency_key is None:
        return ""
    return digest_asked(
        kind,
        options,
        arms=[[arm.variant.pk, arm.task, hash_prompt(arm.system_prompt), arm.settings] for arm in arms],
        inputs=[list(ids) for ids in {id(ids): ids for ids in (arm.list_inputs(input_ids) for arm in arms)}.values()],
        **({"after": sorted(after.items())} if after else {}),
    )


def count_cells(arms: Sequence[PlannedArm], input_ids: Sequence[int], *, repeats: int) -> list[int]:
    """The number of cells of each arm."""
    return [len(arm.list_inputs(input_ids)) * repeats for arm in arms]


def settle_pilot(arms: Sequence[PlannedArm], input_ids: Sequence[int], options: LaunchOptions) -> int:
    """How many calls of each arm are sent first: the given number. If none was given, one call in ``PILOT_SHARE`` of all, at
    least one and at most ``DEFAULT_PILOT`` per arm, so that with many small arms the pilot is not most of the batch. Answers from
    a file arrive as a whole, without a pilot."""
    if options.pilot is not None:
        return options.pilot
    if options.route == Batch.Route.FILE:
        return 0
    calls = sum(count_cells(arms, input_ids, repeats=options.repeats))
    return max(1, min(DEFAULT_PILOT, calls // PILOT_SHARE // max(1, len(arms))))


def count_conversations(
    arms: Sequence[PlannedArm], input_ids: Sequence[int], after: Mapping[int, int], *, repeats: int
) -> list[int]:
    """The number of conversations of each arm. A cell that belongs to no conversation counts as one."""
    return [sum(each not in after for each in arm.list_inputs(input_ids)) * repeats for arm in arms]


def count_pilots(cells: Sequence[int], pilot: int, conversations: Sequence[int] | None = None) -> list[int]:
    """How many conversations of each arm are sent first to make this number of calls; none if that would be the whole batch.
    Without ``conversations``, every cell is a conversation."""
    whole = cells if conversations is None else conversations
    drawn = [min(count_drawn(n, count, pilot), n) for n, count in zip(whole, cells, strict=True)]
    return drawn if any(part < n for part, n in zip(drawn, whole, strict=True)) else [0 for _ in whole]


def check_launch(
    arms: Sequence[PlannedArm],
    input_ids: Sequence[int],
    options: LaunchOptions,
    *,
    after: Mapping[int, int] | None = None,
    stays_open: bool = False,
) -> int | None:
    """Raise ``Refused`` for what no launch accepts. The review of a launch calls this too. Returns the cap in whole nanodollars."""
    prices, capabilities = _read_rows(arms)
    pilot = settle_pilot(arms, input_ids, options)
    _check_grid(arms, input_ids, options.repeats, pilot, may_be_empty=stays_open)
    _check_conversations(arms, input_ids, after or {})
    if stays_open and (options.route != Batch.Route.LIVE or options.pilot):
        raise Refused("A batch to which cells are added later runs live and without a pilot.")
    _check_route(arms, options.route, pilot, capabilities)
    _check_settings(arms, capabilities)
    check_concurrency(options.concurrency)
    cap_nano = check_cap(
        options.cap_usd,
        [arm.variant.label for arm in arms if arm.variant.pk not in prices],
        [arm.variant.label for arm in arms if _is_open_ended(arm.variant, prices, capabilities)],
    )
    refuse_cap_of_file(options.route, cap_nano)
    return cap_nano


def check_grants(plan: LaunchPlan, *, study: Study, options: LaunchOptions, by: trail.Actor) -> None:
    """Refuse a launch that the study's grants do not cover, or that would be one batch too many, before anything is written.
    Raises ``Refused``."""
    refuse_too_many(study, by)
    prices, _ = _read_rows(plan.arms)
    variants = {arm.variant.pk: arm.variant for arm in plan.arms}.values()
    cap_nano = None if options.cap_usd is None else to_nano(options.cap_usd)
    check_money(study=study, asked=find_asked_at(variants, prices), cap_nano=cap_nano, by=by)


def _is_open_ended(
    variant: ModelVariant, prices: Mapping[int, Price], capabilities: Mapping[int, Capabilities]
) -> bool:
    price = prices.get(variant.pk)
    return bool(price and price.price_out) and is_open_ended(variant, capabilities.get(variant.pk))


def _save_once(batch: Batch) -> Batch | None:
    """Save the batch. If the same form was submitted twice and the other request came first, return its batch."""
    try:
        with transaction.atomic():
            batch.save(force_insert=True)
    except IntegrityError:
        launched = find_launched(batch.study, batch.idempotency_key, batch.parameters.get(ASKED, ""))
        if launched is None:
            raise
        return launched
    return None


def _add_arms(batch: Batch, arms: Sequence[PlannedArm]) -> list[Arm]:
    """Create the arms with the rows they pin."""
    prices, capabilities = _read_rows(arms)
    return [_make_arm(batch, arm, prices, capabilities) for arm in arms]


def _read_rows(arms: Sequence[PlannedArm]) -> tuple[dict[int, Price], dict[int, Capabilities]]:
    variants = {arm.variant.pk: arm.variant for arm in arms}.values()
    return find_prices(variants), find_capabilities(variants)


def _check_conversations(arms: Sequence[PlannedArm], input_ids: Sequence[int], after: Mapping[int, int]) -> None:
    try:
        for ids in {id(ids): ids for ids in (arm.list_inputs(input_ids) for arm in arms)}.values():
            list_conversations(ids, after)
    except OutOfOrder as error:
        raise Refused(str(error)) from None


def _check_grid(
    arms: Sequence[PlannedArm], input_ids: Sequence[int], repeats: int, pilot: int, *, may_be_empty: bool
) -> None:
    if not arms:
        raise Refused("Choose at least one model and one task.")
    if len({(arm.variant.pk, arm.task, arm.system_prompt) for arm in arms}) < len(arms):
        raise Refused("Each model and each task can be named only once.")
    inputs = {id(ids): ids for ids in (arm.list_inputs(input_ids) for arm in arms)}
    if not may_be_empty and not all(inputs.values()):
        raise Refused("No text matches the selection, so there is nothing to ask about.")
    if any(len(set(ids)) < len(ids) for ids in inputs.values()):
        raise Refused("Each text can be named only once; use repeats to get more than one answer.")
    if not 1 <= repeats <= MAX_REPEATS:
        raise Refused(f"Repeats must be between 1 and {MAX_REPEATS:,}.")
    cells = sum(count_cells(arms, input_ids, repeats=repeats))
    if cells > settings.MAX_CELLS_PER_LAUNCH:
        raise Refused(
            f"This launch has {cells:,} cells (texts × arms × repeats); the limit of this site is "
            f"{settings.MAX_CELLS_PER_LAUNCH:,}. Launch it in parts, or ask the person who runs the server to raise "
            "MAX_CELLS_PER_LAUNCH."
        )
    if pilot < 0:
        raise Refused("The pilot must be a number of calls per model and task; 0 means no pilot.")


def _check_route(arms: Sequence[PlannedArm], route: str, pilot: int, capabilities: Mapping[int, Capabilities]) -> None:
    """Each route works only for some accounts. Reads variant.account."""
    with_file = sorted({arm.variant.label for arm in arms if arm.variant.provider == FILE_PROVIDER})
    others = sorted({arm.variant.label for arm in arms if arm.variant.provider != FILE_PROVIDER})
    if route == Batch.Route.FILE and others:
        raise Refused(
            f"Only models of a file account can get their answers from a file. Ask {', '.join(others)} directly."
        )
    if route != Batch.Route.FILE and with_file:
        raise Refused(
            f"The account of {', '.join(with_file)} cannot be asked, because its answers are imported from a file. Choose that "
            "route."
        )
    if route == Batch.Route.FILE and pilot:
        raise Refused("A batch whose answers are imported from a file has no pilot.")
    if route == Batch.Route.JOBS:
        without = {arm.variant.label for arm in arms if not _offers_batches(arm, capabilities)}
        if without:
            raise Refused(
                f"No batch service of the provider is known for {', '.join(sorted(without))}. Ask live, or record that the "
                "model offers one."
            )


def _check_settings(arms: Sequence[PlannedArm], capabilities: Mapping[int, Capabilities]) -> None:
    """Refuse a setting that a model or its API does not accept before anything is sent. Reads variant.account.

    For a file account, the questions are asked elsewhere; the export of the requests checks the settings.
    """
    variants = {arm.variant.pk: arm.variant for arm in arms if arm.variant.provider not in CALLS_NOBODY}
    for variant in variants.values():
        request = make_request(Arm(variant=variant, capabilities=capabilities.get(variant.pk)), "")
        try:
            write_body(variant.provider, request)
        except SettingRefused as error:
            raise Refused(f"{variant.label}: {error}") from None


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
    """Rounded up, because the reserved amount must never be less than what is billed."""
    return (Decimal(price) * share).quantize(PRICE_PLACES, rounding=ROUND_UP)


def _record_launch(
    batch: Batch, arms: Sequence[PlannedArm], cells: int, cap_usd: Decimal | None, by: trail.Actor
) -> None:
    trail.record(
        "batch.launched",
        target=batch,
        by=by,
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


CLOSED = "Batch {batch} is closed: nothing more can be asked in it."
PAUSED = "Batch {batch} is {state}, so nothing is sent. {reason} Resume it, then ask again."
OTHERWISE = "Input {input} was already asked in batch {batch}, after another cell. Reload the page to see it."
NO_ANSWER = (
    "The previous question has no answer, so this question cannot follow it. Ask the previous question again, or continue after "
    "the last answered question."
)
UNDER_WAY = (
    "The call is in progress and its answer will be charged, so the question cannot be given up. Wait until the call has "
    "ended."
)
GIVEN_UP = "given_up"
OVER_CAP = (
    "This call could cost up to ${highest:,.6f}, but only ${left:,.6f} of the cap is left. Raise the cap of batch {batch}, or "
    "stop here."
)


@transaction.atomic
def add_cell(
    *, batch: Batch, arm: Arm, input_id: int, by: trail.Actor, after: Cell | None = None, repeat: int = 1
) -> Cell:
    """Add a cell to a batch that stays open. It is asked at once, or as soon as ``after`` is answered. Raises ``Refused``.

    The same input and repeat again give the cell that the first call made: a feature that stores its question once for each
    ``idempotency_key`` and asks for it here in the same transaction asks it once. ``after`` is a cell of the same arm, whose
    conversation is continued. A further ``repeat`` asks the same question another time, after the same cell, when its answer was
    cut off, say; what failed is asked again by ``retry_failed(only=[cell.pk])``.

    Nothing is added where the call could exceed the cap, with everything that was said before it. What a cell costs that waits
    for ``after`` is not known before that is answered: its turn comes then, and the cap pauses the batch before it is sent.
    """
    locked = lock_batch(batch)
    known = Cell.objects.filter(arm=arm, batch=locked, input_id=input_id, repeat=repeat).first()
    if known is not None:
        if known.after_id != (after.pk if after else None):
            raise Refused(OTHERWISE.format(input=input_id, batch=batch.pk))
        return known
    _refuse_shut(locked)
    own = Arm.objects.select_related("variant__account", "capabilities", "batch").get(pk=arm.pk, batch=locked)
    cell = Cell(batch=locked, arm=own, input_id=input_id, repeat=repeat)
    if after is not None:
        cell.after = Cell.objects.get(pk=after.pk, arm=own)
        cell.state = _choose_state(cell.after)
        locked.has_conversations = True
    cell.save(force_insert=True)
    if cell.state == Cell.State.PLANNED:
        _check_room(locked, own, cell)
    details: dict[str, object] = {"cell": cell.pk, "input": input_id, "after": cell.after_id}
    change_batch(batch, by, "batch.cell_added", details, {"has_conversations": locked.has_conversations})
    notify_queues(batch.queues.filter(name=own.variant.queue_name))
    return cell


@transaction.atomic
def give_up_cells(*, batch: Batch, cells: Collection[int], by: trail.Actor) -> int:
    """Stop asking cells without an answer, because a person will not wait any longer.

    They fail as ``given_up``. Returns how many. They are between two tries, or wait for a batch that has stopped. Raises
    ``Refused`` for a cell whose call is in progress or held. Cells that have already ended stay as they are.
    """
    locked = lock_batch(batch)
    open_cells = Cell.objects.filter(batch=locked, pk__in=cells).exclude(state__in=(Cell.State.DONE, *FAILED_FOR_GOOD))
    given_up = list(open_cells.order_by("pk"))
    if any(cell.state not in {Cell.State.PLANNED, Cell.State.BLOCKED} for cell in given_up):
        raise Refused(UNDER_WAY)
    if given_up:
        keys = [cell.pk for cell in given_up]
        fail_cells(locked, given_up, GIVEN_UP)
        fail_followers(locked, keys)
        change_batch(batch, by, "batch.cells_given_up", {"cells": keys}, {})
        finish_if_complete(batch)
    batch.refresh_from_db()
    return len(given_up)


@transaction.atomic
def close_batch(*, batch: Batch, by: trail.Actor) -> None:
    """Close the batch, so that nothing more can be added. It is done when its last cell has ended, which may be now. Closing it
    again changes nothing."""
    locked = lock_batch(batch)
    if locked.stays_open and locked.is_open:
        cells = Cell.objects.filter(batch=batch).count()
        change_batch(batch, by, "batch.closed", {"cells": cells}, {"stays_open": False})
        finish_if_complete(batch)
    batch.refresh_from_db()


def _refuse_shut(batch: Batch) -> None:
    refuse_ended(batch, "given another call")
    if not batch.stays_open:
        raise Refused(CLOSED.format(batch=batch.pk))
    if batch.state not in WORKING_STATES and not batch.awaits_server:
        state = batch.get_state_display().lower()
        raise Refused(PAUSED.format(batch=batch.pk, state=state, reason=batch.state_reason).replace("  ", " "))


def _choose_state(previous: Cell) -> str:
    if previous.state in FAILED_FOR_GOOD:
        raise Refused(NO_ANSWER)
    return Cell.State.PLANNED if previous.state == Cell.State.DONE else Cell.State.BLOCKED


def _check_room(batch: Batch, arm: Arm, cell: Cell) -> None:
    """Refuse a call that cannot be sent within the cap. A call whose messages cannot be written fails later, when it is to be
    sent."""
    if batch.cap_nano is None:
        return
    requests, _ = write_requests(batch, {arm.pk: arm}, [cell])
    left = batch.cap_nano - batch.spent_nano - batch.reserved_nano
    highest = max((compute_highest_price(request, arm) for request in requests.values()), default=0)
    if highest > left:
        raise Refused(OVER_CAP.format(highest=to_dollars(highest), left=to_dollars(left), batch=batch.pk))
