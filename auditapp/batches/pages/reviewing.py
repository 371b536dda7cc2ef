"""What a launch would send, and the most it can cost, before anything is written or sent."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from html import unescape
from typing import Any, NamedTuple

from django.template.loader import render_to_string

from auditapp.batches.kinds import ANSWER_SCHEMA, Said, get_kind, write_answer_schema
from auditapp.batches.launching import (
    LaunchOptions,
    LaunchPlan,
    PlannedArm,
    check_launch,
    count_cells,
    count_chains,
    count_pilots,
    settle_pilot,
)
from auditapp.batches.ledger.prompts import count_most_tokens, hash_prompt, make_request, write_json
from auditapp.batches.ledger.worker_signs import is_worker_alive
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.chaining import Conversation, list_chains, list_depths
from auditapp.batches.pure.estimating import compute_cost, to_nano
from auditapp.llm.models import Capabilities, ModelVariant, Price
from auditapp.llm.providers import ASSUMED_MAX_OUTPUT
from auditapp.llm.pure.model_settings import group_by_family, may_think
from auditapp.llm.queries import find_capabilities, find_max_output, find_prices, list_noted

# A limit below this number of tokens is likely to cut off a model that thinks.
ROOM_FOR_THINKING = 8_192


def review_launch(plan: LaunchPlan, options: LaunchOptions) -> dict[str, Any]:
    """The launch in numbers, for the page that asks whether to go on. What ``launch_batch`` would refuse is refused here.

    Money is in nanodollars, at the highest price of each call; a sum is ``None`` where one of its parts is not known.
    ``tokens_in`` and ``tokens_out`` of an arm are the most that its calls can send and get. ``likely_nano`` is what the calls
    will probably cost, where the plan says how long an answer usually is: with so many tokens in each, and a token for
    ``LIKELY_BYTES_PER_TOKEN`` bytes of text. ``prompts`` has one arm for each of the different instructions; ``has_fake`` says
    whether this program would invent some of the answers. Raises ``Refused``.
    """
    check_launch(plan.arms, plan.input_ids, options, after=plan.after, stays_open=plan.stays_open)
    variants = list({arm.variant.pk: arm.variant for arm in plan.arms}.values())
    prices, capabilities = find_prices(variants), find_capabilities(variants)
    cells = count_cells(plan.arms, plan.input_ids, repeats=options.repeats)
    pilot = settle_pilot(plan.arms, plan.input_ids, options)
    chains = count_chains(plan.arms, plan.input_ids, plan.after, repeats=options.repeats)
    drawn = count_pilots(cells, pilot, chains)
    # Chains differ in length: before they are drawn, the number of their calls is known by their mean length.
    pilots = [
        round(part * count / whole) if whole else 0 for part, count, whole in zip(drawn, cells, chains, strict=True)
    ]
    arms = [
        _review_arm(
            planned,
            sizes,
            prices.get(planned.variant.pk),
            capabilities.get(planned.variant.pk),
            pilot=first,
            options=options,
            expected=plan.expected_answer,
        )
        | {"task": plan.names.get(planned.task, planned.task), "cells": count, "pilot_cells": first}
        for planned, sizes, count, first in zip(plan.arms, measure_calls(plan), cells, pilots, strict=True)
    ]
    highest = _add([arm["highest_nano"] for arm in arms])
    return {
        "arms": arms,
        "prompts": list({arm["prompt_hash"]: arm for arm in arms}.values()),
        "cells": sum(cells),
        "pilot_cells": sum(pilots),
        "highest_nano": highest,
        "likely_nano": _add([arm["likely_nano"] for arm in arms]),
        "expected_answer": plan.expected_answer,
        "bytes_per_token": LIKELY_BYTES_PER_TOKEN,
        "pilot_nano": _add([arm["pilot_nano"] for arm in arms]),
        "accounts": sorted({variant.account for variant in variants}, key=lambda account: account.name),
        "has_fake": any(variant.is_fake for variant in variants),
        "notes": plan.warnings,
        "warnings": [
            *_list_warnings(variants, prices, options),
            *([] if options.route == Batch.Route.FILE else list_limit_warnings(variants, capabilities)),
            *_list_size_warnings(max(cells), pilot, options, highest),
        ],
        "note_template": plan.warning_template,
        "facts": plan.facts,
        "facts_template": plan.facts_template,
    }


def write_warnings(review: Mapping[str, Any]) -> list[str]:
    """What a person should consider first, in the sentences of the review's page."""
    sentences = [_render("batches/_launch_warning.html", warning) for warning in review["warnings"]]
    template = review["note_template"]
    return sentences + [_render(template, note) if template else str(note) for note in review["notes"]]


def _render(template: str, warning: object) -> str:
    return " ".join(unescape(render_to_string(template, {"warning": warning})).split())


def _review_arm(
    planned: PlannedArm,
    sizes: Counter[CallSize],
    price: Price | None,
    row: Capabilities | None,
    *,
    pilot: int,
    options: LaunchOptions,
    expected: int | None,
) -> dict[str, Any]:
    share = price.batch_share if price and options.route == Batch.Route.JOBS else Decimal(1)
    arm = Arm(
        variant=planned.variant,
        system_prompt=planned.system_prompt,
        capabilities=row,
        price_in=price.price_in * share if price else None,
        price_out=price.price_out * share if price else None,
    )
    costs: Counter[int] = Counter()
    max_in = max_out = likely = 0
    # What is sent without any text, and the most that comes back: what comes back is sent again by later calls of a chain.
    empty_in, tokens_out = count_most_tokens(make_request(arm, ""))
    usual = min(expected or 0, tokens_out)
    for size, count in sizes.items():
        tokens_in, calls = empty_in + size.count_most_tokens(tokens_out), count * options.repeats
        cost = compute_cost(tokens_in=tokens_in, tokens_out=tokens_out, price_in=arm.price_in, price_out=arm.price_out)
        costs[cost or 0] += calls
        likely_in = size.count_likely_tokens(empty_in, usual)
        cost = compute_cost(tokens_in=likely_in, tokens_out=usual, price_in=arm.price_in, price_out=arm.price_out)
        likely += calls * (cost or 0)
        max_in, max_out = max_in + calls * tokens_in, max_out + calls * tokens_out
    return {
        "variant": planned.variant,
        "prompt": planned.system_prompt,
        "prompt_hash": hash_prompt(planned.system_prompt),
        "price": price,
        "tokens_in": max_in,
        "tokens_out": max_out,
        "highest_nano": sum(cost * count for cost, count in costs.items()) if price else None,
        "likely_nano": likely if price and expected is not None else None,
        "pilot_nano": _sum_dearest(costs, pilot) if price else None,
    }


def _sum_dearest(costs: Counter[int], calls: int) -> int:
    """The most that any so many of the calls can cost together."""
    total = 0
    for cost in sorted(costs, reverse=True):
        taken = min(costs[cost], calls)
        total += cost * taken
        calls -= taken
    return total


def _add(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _list_warnings(
    variants: Sequence[ModelVariant], prices: Mapping[int, Price], options: LaunchOptions
) -> list[dict[str, object]]:
    """Each warning as a ``code`` with its values; ``batches/_launch_warning.html`` has the words."""
    warnings: list[dict[str, object]] = []
    is_asked_here = options.route != Batch.Route.FILE
    unpriced = [variant.label for variant in variants if variant.pk not in prices]
    if unpriced:
        warnings.append({"code": "unpriced", "labels": unpriced})
    elif options.cap_usd is None and is_asked_here and any(each.price_in or each.price_out for each in prices.values()):
        warnings.append({"code": "no_cap"})
    fake = [variant.label for variant in variants if variant.is_fake]
    if fake:
        warnings.append({"code": "fake", "labels": fake})
    warnings += [{"code": "note", "label": variant.label, "note": variant.note} for variant in list_noted(variants)]
    if is_asked_here and not is_worker_alive():
        warnings.append({"code": "no_worker"})
    accounts = {variant.account_id for variant in variants}
    if is_asked_here and len(accounts) > 1:
        warnings.append({"code": "several_accounts", "count": len(accounts)})
    families = group_by_family((variant.label, variant.model) for variant in variants if not variant.is_fake)
    warnings += [{"code": "same_family", "family": family, "labels": labels} for family, labels in families.items()]
    return warnings


def list_limit_warnings(
    variants: Sequence[ModelVariant], capabilities: Mapping[int, Capabilities]
) -> list[dict[str, object]]:
    """Warnings about the longest answer, in the form of ``_list_warnings``: where none is set, and where one may cut off a
    model that thinks. Reads variant.account."""
    asked = [variant for variant in variants if not variant.is_fake]
    bounds = [
        (variant.label, find_max_output(variant, capabilities.get(variant.pk)))
        for variant in asked
        if variant.max_tokens is None
    ]
    known = [{"label": label, "tokens": tokens} for label, tokens in bounds if tokens is not None]
    assumed = [label for label, tokens in bounds if tokens is None]
    short = [variant for variant in asked if _may_cut_off(variant, capabilities.get(variant.pk))]
    warnings: list[dict[str, object]] = []
    if known:
        warnings.append({"code": "no_limit", "models": known})
    if assumed:
        warnings.append({"code": "no_limit_known", "labels": assumed, "tokens": ASSUMED_MAX_OUTPUT})
    if short:
        models = [{"label": variant.label, "tokens": variant.max_tokens} for variant in short]
        warnings.append({"code": "limit_may_cut_off", "models": models})
    return warnings


def _may_cut_off(variant: ModelVariant, row: Capabilities | None) -> bool:
    """Whether thinking is likely to use up the limit of an answer. A budget of thinking tokens comes on top of it."""
    if variant.max_tokens is None or variant.max_tokens >= ROOM_FOR_THINKING:
        return False
    word = variant.reasoning.strip().lower()
    if word:
        return word != "off" and not word.isdecimal() and not (row and row.reasoning == Capabilities.Reasoning.BUDGET)
    return may_think(variant.model)


def _list_size_warnings(
    max_cells: int, pilot: int, options: LaunchOptions, highest_nano: int | None
) -> list[dict[str, object]]:
    """What the sizes of pilot and cap come to. ``max_cells``: of the largest arm."""
    warnings: list[dict[str, object]] = []
    if 0 < max_cells <= pilot:
        warnings.append({"code": "pilot_is_everything", "pilot": pilot, "cells": max_cells})
    if options.cap_usd is not None and highest_nano is not None and to_nano(options.cap_usd) < highest_nano:
        warnings.append({"code": "cap_below_highest"})
    return warnings


READ_AT_ONCE = 2000
TOKENS_PER_MESSAGE = 16
# Of English text, roughly; other scripts have fewer bytes to a token.
LIKELY_BYTES_PER_TOKEN = 4


class CallSize(NamedTuple):
    """What a call sends beside its arm's instructions: ``length`` bytes of texts that are known, and ``answers`` earlier answers,
    which are not."""

    length: int
    answers: int = 0

    def count_most_tokens(self, answer: int) -> int:
        """The most tokens of it, where one answer has at most so many."""
        return self.length + self.answers * (answer + 2 * TOKENS_PER_MESSAGE)

    def count_likely_tokens(self, beside: int, answer: int) -> int:
        """The tokens that it probably sends together with ``beside`` bytes of instructions, where an answer usually has so many."""
        known = beside + self.length + self.answers * 2 * TOKENS_PER_MESSAGE
        return math.ceil(known / LIKELY_BYTES_PER_TOKEN) + self.answers * answer


class _Part(NamedTuple):
    """The bytes of one call: what is said, and what goes with it each time (a schema, other instructions)."""

    said: int
    beside: int


def measure_calls(plan: LaunchPlan) -> list[Counter[CallSize]]:
    """For each arm, how many calls of one repeat have which size. Arms that share messages share the count.

    A call that continues others sends their messages and answers too.
    """
    kind = get_kind(plan.kind)
    measured: dict[tuple[object, ...], Counter[CallSize]] = {}
    found: list[Counter[CallSize]] = []
    for planned in plan.arms:
        own = planned.list_inputs(plan.input_ids)
        key = (id(own), *_name_messages(planned))
        if key not in measured:
            arm = Arm(
                variant=planned.variant,
                task=planned.task,
                system_prompt=planned.system_prompt,
                settings=planned.settings,
                batch=Batch(kind=plan.kind),
            )
            said: dict[int, Said] = {}
            for start in range(0, len(own), READ_AT_ONCE):
                said |= kind.write_prompts(arm, own[start : start + READ_AT_ONCE])
            measured[key] = Counter(measure_said(arm, said, own, plan.after).values())
        found.append(measured[key])
    return found


def measure_said(
    arm: Arm, said: Mapping[int, Said], inputs: Sequence[int], after: Mapping[int, int]
) -> dict[int, CallSize]:
    """The size of each call, by input, where ``after`` says which input continues which. Where one cannot be asked, nor can those
    behind it."""
    parts = {input_id: _measure(arm, each) for input_id, each in said.items()}
    if not after:
        return {input_id: CallSize(part.said + part.beside) for input_id, part in parts.items()}
    sizes: dict[int, CallSize] = {}
    for chain in list_chains(inputs, after):
        for each, before in list_depths(chain, after).items():
            if each in parts and all(earlier in parts for earlier in before):
                length = sum(parts[earlier].said for earlier in before)
                sizes[each] = CallSize(length + parts[each].said + parts[each].beside, len(before))
    return sizes


def _name_messages(planned: PlannedArm) -> tuple[object, ...]:
    # A schema is written by arm: it names the codes.
    if planned.messages and not planned.settings.get(ANSWER_SCHEMA):
        return planned.variant.pk, planned.messages
    return planned.task, planned.system_prompt, json.dumps(planned.settings, sort_keys=True)


def _measure(arm: Arm, said: Said) -> _Part:
    """The bytes of a call's messages, and of the schema that its answer is held to: both are paid for."""
    given = Conversation(arm.system_prompt, (), said) if isinstance(said, str) else said
    schema = write_answer_schema(arm, given.user)
    messages = [given.user, *(part for exchange in given.history for part in exchange)]
    beside = _count(given.system) - _count(arm.system_prompt) + (_count(write_json(schema)) if schema else 0)
    return _Part(sum(map(_count, messages)) + 2 * TOKENS_PER_MESSAGE * len(given.history), beside)


def _count(text: str) -> int:
    return len(text.encode())
