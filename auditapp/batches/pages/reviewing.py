"""What a launch would send and cost at most, worked out before anything is written or sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from auditapp.batches.actions import LaunchOptions, LaunchPlan, PlannedArm, check_launch
from auditapp.batches.actions.launching import count_cells, count_pilots
from auditapp.batches.kinds import get_kind
from auditapp.batches.ledger.prompts import compute_highest_price, hash_prompt, make_request
from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.money import to_nano
from auditapp.llm.families import group_by_family
from auditapp.llm.models import Capabilities, ModelVariant, Price, ProviderAccount
from auditapp.llm.queries import find_capabilities, find_prices

READ_AT_ONCE = 2000


class ReviewedArm(NamedTuple):
    """An arm to be. Money in nanodollars at the highest price of each call; ``None`` where there is no price."""

    variant: ModelVariant
    task: str
    prompt: str
    prompt_hash: str
    cells: int
    pilot_cells: int
    price: Price | None
    highest_nano: int | None
    pilot_nano: int | None


class ReviewedAccount(NamedTuple):
    """Where calls would go, and what is known of its key."""

    account: ProviderAccount
    key: str


class Review(NamedTuple):
    """The launch in numbers. A sum is ``None`` when one of its parts is not known."""

    arms: list[ReviewedArm]
    cells: int
    pilot_cells: int
    highest_nano: int | None
    pilot_nano: int | None
    accounts: list[ReviewedAccount]
    warnings: list[str]
    facts: Sequence[tuple[str, str]] = ()

    @property
    def prompts(self) -> list[ReviewedArm]:
        """One arm for each of the different instructions."""
        return list({arm.prompt_hash: arm for arm in self.arms}.values())

    @property
    def has_fake(self) -> bool:
        """Whether some answers would be invented by this program."""
        return any(arm.variant.is_fake for arm in self.arms)


def review_launch(plan: LaunchPlan, options: LaunchOptions) -> Review:
    """Count the cells and the most they can cost. What ``launch_batch`` would refuse is refused here, with ``BatchError``."""
    check_launch(plan.arms, plan.input_ids, options)
    variants = list({arm.variant.pk: arm.variant for arm in plan.arms}.values())
    prices, capabilities = find_prices(variants), find_capabilities(variants)
    lengths = _measure_prompts(plan)
    cells = count_cells(plan.arms, plan.input_ids, repeats=options.repeats)
    arms = [
        _review_arm(
            planned,
            lengths[place],
            prices.get(planned.variant.pk),
            capabilities.get(planned.variant.pk),
            task=plan.names.get(planned.task, planned.task),
            cells=cells[place],
            pilot=first,
            options=options,
        )
        for place, (planned, first) in enumerate(zip(plan.arms, count_pilots(cells, options.pilot), strict=True))
    ]
    highest = _add([arm.highest_nano for arm in arms])
    warnings = [
        *_list_warnings(variants, prices, options),
        *plan.warnings,
        *_warn_of_numbers(max(cells), options.pilot, highest, options.cap_usd),
    ]
    return Review(
        arms=arms,
        cells=sum(arm.cells for arm in arms),
        pilot_cells=sum(arm.pilot_cells for arm in arms),
        highest_nano=highest,
        pilot_nano=_add([arm.pilot_nano for arm in arms]),
        accounts=[ReviewedAccount(account, describe_key(account)) for account in _list_accounts(variants)],
        warnings=warnings,
        facts=plan.facts,
    )


def _warn_of_numbers(most_cells: int, pilot: int, highest_nano: int | None, cap: Decimal | None) -> list[str]:
    """What the sizes of pilot and cap come to. ``most_cells``: of the largest arm."""
    warnings: list[str] = []
    if 0 < most_cells <= pilot:
        noun = "cell" if most_cells == 1 else "cells"
        warnings.append(
            f"A pilot of {pilot:,} would be all of the {most_cells:,} {noun} of each arm, so there is none: everything is sent "
            "at once. For a pilot, name fewer."
        )
    if cap is not None and highest_nano is not None and to_nano(cap) < highest_nano:
        warnings.append("The cap lies below the most that this can cost: the batch may pause at it before its end.")
    return warnings


def _review_arm(
    planned: PlannedArm,
    lengths: Counter[int],
    price: Price | None,
    row: Capabilities | None,
    *,
    task: str,
    cells: int,
    pilot: int,
    options: LaunchOptions,
) -> ReviewedArm:
    share = price.batch_share if price and options.route == Batch.Route.JOBS else Decimal(1)
    arm = Arm(
        variant=planned.variant,
        system_prompt=planned.system_prompt,
        capabilities=row,
        price_in=price.price_in * share if price else None,
        price_out=price.price_out * share if price else None,
    )
    costs: Counter[int] = Counter()
    for length, count in lengths.items():
        costs[compute_highest_price(make_request(arm, "x" * length), arm)] += count * options.repeats
    return ReviewedArm(
        variant=planned.variant,
        task=task,
        prompt=planned.system_prompt,
        prompt_hash=hash_prompt(planned.system_prompt),
        cells=cells,
        pilot_cells=pilot,
        price=price,
        highest_nano=sum(cost * count for cost, count in costs.items()) if price else None,
        pilot_nano=_sum_dearest(costs, pilot) if price else None,
    )


def _measure_prompts(plan: LaunchPlan) -> list[Counter[int]]:
    """For each arm, how many user messages there are of each length in bytes. Arms that share messages share the count."""
    kind = get_kind(plan.kind)
    measured: dict[tuple[object, ...], Counter[int]] = {}
    found: list[Counter[int]] = []
    for planned in plan.arms:
        own = planned.list_inputs(plan.input_ids)
        as_told = (planned.task, planned.system_prompt, json.dumps(planned.settings, sort_keys=True))
        key = (id(own), *((planned.variant.pk, planned.messages) if planned.messages else as_told))
        if key not in measured:
            arm = Arm(
                variant=planned.variant,
                task=planned.task,
                system_prompt=planned.system_prompt,
                settings=planned.settings,
            )
            measured[key] = Counter()
            for start in range(0, len(own), READ_AT_ONCE):
                prompts = kind.write_prompts(arm, own[start : start + READ_AT_ONCE])
                measured[key].update(len(prompt.encode()) for prompt in prompts.values())
        found.append(measured[key])
    return found


def _sum_dearest(costs: Counter[int], calls: int) -> int:
    """The most that so many of the calls can cost together, whichever they are."""
    total = 0
    for cost in sorted(costs, reverse=True):
        taken = min(costs[cost], calls)
        total += cost * taken
        calls -= taken
    return total


def _add(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _list_accounts(variants: Sequence[ModelVariant]) -> list[ProviderAccount]:
    return sorted({variant.account for variant in variants}, key=lambda account: account.name)


def describe_key(account: ProviderAccount) -> str:
    """Where the key of an account comes from, in words; never the key."""
    if account.provider == "fake":
        return "needs none"
    if account.key_env:
        return f"from the worker's environment variable {account.key_env}"
    if not account.key_sealed:
        return "none"
    return f"stored encrypted, ends in {account.key_last_four}" if account.key_last_four else "stored encrypted"


def _list_warnings(
    variants: Sequence[ModelVariant],
    prices: Mapping[int, Price],
    options: LaunchOptions,
) -> list[str]:
    warnings: list[str] = []
    unpriced = [variant.label for variant in variants if variant.pk not in prices]
    if unpriced:
        warnings.append(
            f"No price is recorded for {', '.join(unpriced)}: what they cost is not known, and no cap can hold."
        )
    elif _is_paid(prices) and options.cap_usd is None and options.route != Batch.Route.FILE:
        warnings.append(
            "There is no cap: the batch may spend up to the most given here, and more where answers are lost."
        )
    fake = [variant.label for variant in variants if variant.is_fake]
    if fake:
        warnings.append(f"The fake provider invents its answers ({', '.join(fake)}); they say nothing about any model.")
    if options.route != Batch.Route.FILE and not is_worker_alive():
        warnings.append("No worker is alive: the batch waits until one is started with manage.py worker.")
    accounts = {variant.account_id for variant in variants}
    if len(accounts) > 1 and options.route != Batch.Route.FILE:
        warnings.append(f"The calls go to {len(accounts)} accounts, each of which is paid and limited by itself.")
    families = group_by_family((variant.label, variant.model) for variant in variants if not variant.is_fake)
    for family, labels in families.items():
        warnings.append(
            f"{', '.join(labels)} belong to the same family ({family}): their answers are not independent evidence."
        )
    return warnings


def _is_paid(prices: Mapping[int, Price]) -> bool:
    return any(price.price_in or price.price_out for price in prices.values())
