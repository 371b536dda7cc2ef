"""What a launch would send and the most that it can cost, before anything is written or sent. And what a batch has cost and what
the rest will cost, by arm and day, and at which prices. The costs of calls in conversations are averaged by depth.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from html import unescape
from statistics import fmean, variance
from typing import Any, NamedTuple

from django.db.models import Avg, Count, ExpressionWrapper, F, FloatField, Q, StdDev, Sum, Value
from django.db.models.functions import Coalesce, TruncDate
from django.template.loader import render_to_string

from auditapp.batches.kinds import ANSWER_SCHEMA, Said, get_kind, write_answer_schema
from auditapp.batches.launching import (
    LaunchOptions,
    LaunchPlan,
    PlannedArm,
    check_launch,
    count_cells,
    count_conversations,
    count_pilots,
    settle_pilot,
)
from auditapp.batches.ledger.leases import is_worker_alive
from auditapp.batches.ledger.prompts import count_most_tokens, hash_prompt, make_request, write_json, write_messages
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pages.progress import FINISHED, NO_CALLS
from auditapp.batches.pure.conversations import Conversation, list_conversations, list_depths
from auditapp.batches.pure.estimates import (
    NANO,
    TOKENS_PER_PRICE,
    ArmFigures,
    compute_cost,
    estimate,
    to_dollars,
    to_nano,
    write_dollars,
)
from auditapp.llm.models import Capabilities, ModelVariant, Price
from auditapp.llm.providers import ASSUMED_MAX_OUTPUT
from auditapp.llm.pure.model_settings import group_by_family, may_think
from auditapp.llm.queries import find_capabilities, find_max_output, find_prices, is_open_ended, list_noted
from transcripts.formats.report_tables import ReportTable, TableRow, declare

# A limit below this number of tokens is likely to cut off a model that thinks.
ROOM_FOR_THINKING = 8_192


def review_launch(plan: LaunchPlan, options: LaunchOptions) -> dict[str, Any]:
    """The launch in numbers, for the page on which a person confirms it. Whatever ``launch_batch`` would refuse is refused here
    too.

    Money is in nanodollars, at the highest price of each call; a sum is ``None`` if one of its parts is not known. ``tokens_in``
    and ``tokens_out`` of an arm are the most tokens that its calls can send and receive. ``likely_nano`` is what the calls will
    probably cost, if the plan says how long an answer usually is. It assumes that number of tokens in each answer, and one token
    for ``LIKELY_BYTES_PER_TOKEN`` bytes of text. ``prompts`` has one arm for each of the different instructions; ``has_fake``
    says whether this program would invent some of the answers. Raises ``Refused``.
    """
    check_launch(plan.arms, plan.input_ids, options, after=plan.after, stays_open=plan.stays_open)
    variants = list({arm.variant.pk: arm.variant for arm in plan.arms}.values())
    prices, capabilities = find_prices(variants), find_capabilities(variants)
    cells = count_cells(plan.arms, plan.input_ids, repeats=options.repeats)
    pilot = settle_pilot(plan.arms, plan.input_ids, options)
    conversations = count_conversations(plan.arms, plan.input_ids, plan.after, repeats=options.repeats)
    drawn = count_pilots(cells, pilot, conversations)
    # Conversations differ in length: before they are drawn, the number of their calls is known by their mean length.
    pilots = [
        round(part * count / whole) if whole else 0
        for part, count, whole in zip(drawn, cells, conversations, strict=True)
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
    """What a person should consider before the launch, in the sentences of the review page."""
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
    # What is sent without any text, and the most that comes back: what comes back is sent again by later calls of a conversation.
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
    """The most that this number of the calls can cost together."""
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
    """Warnings about the longest answer, in the form of ``_list_warnings``: for models without a limit, and for models that think
    and may be cut off by their limit. Reads variant.account."""
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
    """Warnings about the sizes of the pilot and the cap. ``max_cells``: the cells of the largest arm."""
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
    """What a call sends in addition to its arm's instructions: ``length`` bytes of known texts, and ``answers``, a number of
    earlier answers that are not known yet."""

    length: int
    answers: int = 0

    def count_most_tokens(self, answer: int) -> int:
        """The most tokens that it can have, given the most that one answer can have."""
        return self.length + self.answers * (answer + 2 * TOKENS_PER_MESSAGE)

    def count_likely_tokens(self, beside: int, answer: int) -> int:
        """The tokens that it probably sends, including ``beside`` bytes of instructions, given the usual length of an answer."""
        known = beside + self.length + self.answers * 2 * TOKENS_PER_MESSAGE
        return math.ceil(known / LIKELY_BYTES_PER_TOKEN) + self.answers * answer


class _Part(NamedTuple):
    """The bytes of one call: its messages, and whatever is sent with each call (a schema, other instructions)."""

    said: int
    beside: int


def measure_calls(plan: LaunchPlan) -> list[Counter[CallSize]]:
    """For each arm, how many calls of one repeat have which size. Arms that share messages share the count.

    A call that continues others also sends their messages and answers.
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
    """The size of each call, by input; ``after`` says which input continues which. If an input cannot be asked, neither can those
    that continue it."""
    parts = {input_id: _measure(arm, each) for input_id, each in said.items()}
    if not after:
        return {input_id: CallSize(part.said + part.beside) for input_id, part in parts.items()}
    sizes: dict[int, CallSize] = {}
    for conversation in list_conversations(inputs, after):
        for each, before in list_depths(conversation, after).items():
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
    """The bytes of a call's messages and of the schema that its answer must follow. Both are paid for."""
    given = Conversation(arm.system_prompt, (), said) if isinstance(said, str) else said
    schema = write_answer_schema(arm, given.user)
    messages = [given.user, *(part for exchange in given.history for part in exchange)]
    beside = _count(given.system) - _count(arm.system_prompt) + (_count(write_json(schema)) if schema else 0)
    return _Part(sum(map(_count, messages)) + 2 * TOKENS_PER_MESSAGE * len(given.history), beside)


def _count(text: str) -> int:
    return len(text.encode())


MIN_CALLS = 2
MAX_PROMPTS_READ = 2000

# The number of calls of an arm, the mean of their costs in nanodollars and its deviation.
NO_CALLS_YET = (0, None, None)
PAID_ENDS = (Attempt.End.ANSWERED, Attempt.End.SURPLUS, Attempt.End.FAILED)


def list_after(arm: Arm) -> dict[int, int]:
    """Which of the arm's inputs continues which other input."""
    linked = Cell.objects.filter(arm=arm, after__isnull=False).order_by("pk")
    return dict(linked.values_list("input_id", "after__input_id"))


def list_before(inputs: Sequence[int], after: Mapping[int, int]) -> list[int]:
    """The inputs that are asked before these, each listed after the input that it continues."""
    found: dict[int, None] = {}
    for each in inputs:
        conversation = []
        while (each := after.get(each, 0)) and each not in found:
            conversation.append(each)
        found |= dict.fromkeys(reversed(conversation))
    return list(found)


def read_own_by_depth(arm: Arm) -> tuple[int, float | None, float | None]:
    """The calls of an arm with conversations: their number, and mean and deviation, in nanodollars, of the cost of a call that is
    left.

    A mean and a variance for each depth are weighted by the calls that are left at that depth (post-stratification: Cochran,
    Sampling Techniques, 3rd ed., 1977, 5A.9). Without two calls at each of these depths nothing is known: (0, None, None).
    """
    after = list_after(arm)
    depths = _Depths(after)
    costs: dict[int, list[int]] = defaultdict(list)
    answered = Attempt.objects.filter(arm=arm, end=Attempt.End.ANSWERED, cost_nano__isnull=False).order_by()
    for input_id, cost in answered.values_list("cell__input_id", "cost_nano"):
        costs[depths.find(input_id)].append(cost or 0)
    waiting = Cell.objects.filter(arm=arm).exclude(state__in=FINISHED).order_by()
    left = Counter(depths.find(input_id) for input_id in waiting.values_list("input_id", flat=True))
    count, whole = sum(map(len, costs.values())), left.total()
    if not whole or any(len(costs[depth]) < MIN_CALLS for depth in left):
        return 0, None, None
    mean = sum(n * fmean(costs[depth]) for depth, n in left.items()) / whole
    spread = sum(n * variance(costs[depth]) for depth, n in left.items()) / whole
    return count, mean, math.sqrt(spread)


class _Depths:
    """How many inputs are asked before each input."""

    def __init__(self, after: Mapping[int, int]) -> None:
        self.after = after
        self.known: dict[int, int] = {}

    def find(self, input_id: int) -> int:
        """The depth of an input; 0 if it continues no other."""
        conversation = [input_id]
        while conversation[-1] in self.after and conversation[-1] not in self.known:
            conversation.append(self.after[conversation[-1]])
        depth = self.known.get(conversation[-1], 0)
        for each in reversed(conversation[:-1]):
            depth += 1
            self.known[each] = depth
        return depth


def read_spend(batch: Batch) -> list[dict[str, Any]]:
    """What the calls of each arm cost, by the day (UTC) on which they were begun; one query besides the arms.

    ``nano`` is what is known to be spent, in nanodollars; ``None`` where the arm has no price. ``unpriced_calls`` ended without
    reporting their tokens. ``unknown_calls`` were sent, but it is not known how they ended: they cost at most ``unknown_nano``,
    which can be ``None`` for the same reason.
    """
    arms = {arm.pk: arm for arm in _list_arms(batch)}
    unknown = Q(end=Attempt.End.UNKNOWN)
    # An attempt that was returned unsent asked nothing.
    asked = Attempt.objects.filter(arm__in=list(arms)).exclude(end=Attempt.End.UNSENT)
    rows = (
        asked.annotate(day=TruncDate(Coalesce("sent_at", "written_at"), tzinfo=datetime.UTC))
        .values("arm_id", "day")
        .annotate(
            calls=Count("pk", filter=~Q(end__in=NO_CALLS)),
            cached=Count("pk", filter=Q(end=Attempt.End.CACHED)),
            sum_in=Coalesce(Sum("tokens_in", filter=~Q(end__in=NO_CALLS)), 0),
            sum_out=Coalesce(Sum("tokens_out", filter=~Q(end__in=NO_CALLS)), 0),
            nano=Coalesce(Sum("cost_nano", filter=~Q(end__in=NO_CALLS)), 0),
            unpriced_calls=Count("pk", filter=Q(end__in=PAID_ENDS, cost_nano__isnull=True)),
            unknown_calls=Count("pk", filter=unknown),
            unknown_nano=Coalesce(Sum("reserved_nano", filter=unknown), 0),
        )
        .order_by("arm_id", "day")
    )
    found = []
    for row in rows:
        arm = arms[row["arm_id"]]
        described: dict[str, Any] = {**row, "model": arm.variant.label, "task": arm.task}
        if arm.price_in is None:
            described["nano"] = None
            described["unknown_nano"] = None if row["unknown_calls"] else 0
        found.append(described)
    return found


def list_prices(batch: Batch) -> list[dict[str, Any]]:
    """The prices at which each arm's calls are counted, as pinned at the launch, in US dollars per million tokens. One query."""
    return [
        {
            "model": arm.variant.label,
            "task": arm.task,
            "price_in": arm.price_in,
            "price_out": arm.price_out,
            "share": None if arm.price is None else _read_share(batch, arm),
            "number": arm.price.number if arm.price else None,
            "source": arm.price.source if arm.price else "",
            "recorded_at": arm.price.recorded_at if arm.price else None,
        }
        for arm in _list_arms(batch)
    ]


def read_cache_saving(batch: Batch) -> tuple[int, int | None]:
    """How many answers were reused from earlier calls, and what asking again would have cost, according to the tokens of those
    calls and this batch's prices; ``None`` if that is not known."""
    arms = {arm.pk: arm for arm in _list_arms(batch)}
    copies = Attempt.objects.filter(arm__in=list(arms), end=Attempt.End.CACHED)
    rows = copies.values_list("arm_id").annotate(
        hits=Count("pk"),
        known=Count("pk", filter=Q(copied_from__tokens_in__isnull=False, copied_from__tokens_out__isnull=False)),
        sum_in=Sum("copied_from__tokens_in"),
        sum_out=Sum("copied_from__tokens_out"),
    )
    hits, costs = 0, Counter[int]()
    is_known = True
    for arm_id, count, known, tokens_in, tokens_out in rows.order_by():
        arm = arms[arm_id]
        cost = compute_cost(tokens_in=tokens_in, tokens_out=tokens_out, price_in=arm.price_in, price_out=arm.price_out)
        hits += count
        is_known = is_known and cost is not None and known == count
        costs[arm_id] += cost or 0
    return hits, sum(costs.values()) if is_known else None


def _read_amounts(rows: Sequence[Mapping[str, Any]]) -> Iterator[TableRow]:
    """The rows of ``read_spend`` in dollars; None where an amount is not known."""
    for row in rows:
        yield {
            **row,
            "day_utc": row["day"],
            "tokens_in": row["sum_in"],
            "tokens_out": row["sum_out"],
            "spent_usd": to_dollars(row["nano"]),
            "calls_of_unknown_cost": row["unpriced_calls"],
            "calls_with_unknown_end": row["unknown_calls"],
            "unknown_end_at_most_usd": to_dollars(row["unknown_nano"]),
        }


SPEND = ReportTable(
    "spend",
    "The cost of the calls of each arm, by the day (UTC) on which they began.",
    (
        *declare(str, "model task"),
        *declare(datetime.date, "day_utc"),
        *declare(int, "calls cached tokens_in tokens_out"),
        *declare(Decimal, "spent_usd"),
        *declare(int, "calls_of_unknown_cost calls_with_unknown_end"),
        *declare(Decimal, "unknown_end_at_most_usd"),
    ),
    _read_amounts,
)


def estimate_batch(batch: Batch) -> dict[str, Any]:
    """What the batch will have cost when it ends, estimated from its own calls. For an arm with fewer than two calls, the
    estimate uses earlier batches of the study with the same model and instructions, and the most that each call can cost."""
    arms = _list_arms(batch)
    left = dict(
        Cell.objects.filter(batch=batch)
        .exclude(state__in=FINISHED)
        .values_list("arm_id")
        .annotate(n=Count("pk"))
        .order_by()
    )
    answered = Attempt.objects.filter(arm__in=arms, end=Attempt.End.ANSWERED, cost_nano__isnull=False)
    rows = answered.values_list("arm_id").annotate(
        n=Count("pk"), mean=Avg("cost_nano"), deviation=StdDev("cost_nano", sample=True)
    )
    own = {arm_id: (n, _as_float(mean), _as_float(deviation)) for arm_id, n, mean, deviation in rows.order_by()}
    uncertain = Attempt.objects.filter(arm__in=arms, cost_nano__isnull=True).exclude(end=Attempt.End.OPEN)
    lost = uncertain.aggregate(nano=Sum("reserved_nano"))["nano"]
    figures = [_read_figures(batch, arm, left.get(arm.pk, 0), own.get(arm.pk, NO_CALLS_YET)) for arm in arms]
    return estimate(figures, spent=batch.spent_nano, lost=lost or 0)


def warn_of_cap(found: Mapping[str, Any], cap_nano: int | None) -> str:
    """What a person should know before a batch goes on with this cap: whether, according to the estimate, it may stop before its
    end. Empty if it will not, or if there is no cap or no estimate."""
    low, mid, high = (found[name] for name in ("low", "mid", "high"))
    most = mid if high is None else high
    if cap_nano is None or most is None or cap_nano >= most:
        return ""
    least = most if low is None else low
    amount = write_dollars(to_dollars(round(most)))
    if least < most:
        amount = f"{write_dollars(to_dollars(round(least)))} to {amount}"
    ends = "may pause before it ends" if cap_nano >= least else "will probably pause before it ends"
    return (
        f"The cap of {write_dollars(to_dollars(cap_nano))} is below the estimate of {amount} for the whole batch, so the batch "
        f"{ends}, with some arms further along than others. Raise the cap if you want all cells to be answered."
    )


def _read_figures(batch: Batch, arm: Arm, left: int, own: tuple[int, float | None, float | None]) -> ArmFigures:
    label = f"{arm.variant.label}, {arm.task}"
    is_priced = arm.price_in is not None and arm.price_out is not None
    is_open = bool(arm.price_out) and is_open_ended(arm.variant, arm.capabilities)
    if batch.has_conversations:
        own = read_own_by_depth(arm)
    figures = ArmFigures(arm.pk, label, left, *own, is_priced=is_priced, is_open_ended=is_open)
    if own[0] > 1 or not is_priced or not left:
        return figures
    figures = replace(figures, highest=_read_highest(batch, arm))
    if own[0] == 0:
        n, mean, deviation = _read_earlier(batch, arm)
        if n:
            return replace(figures, n=n, mean=mean, deviation=deviation, is_earlier=True)
    return figures


def _read_highest(batch: Batch, arm: Arm) -> int:
    """The most that the arm's remaining calls can cost. If there are more than two thousand texts, a sample of two thousand,
    evenly spaced, represents all of them."""
    cells = Cell.objects.filter(arm=arm).exclude(state__in=FINISHED)
    ids = list(cells.order_by("pk").values_list("input_id", flat=True))
    count = min(len(ids), MAX_PROMPTS_READ)
    chosen = [ids[place * len(ids) // count] for place in range(count)]
    after = list_after(arm) if batch.has_conversations else {}
    wanted = list(dict.fromkeys([*list_before(chosen, after), *chosen]))
    messages, _ = write_messages(get_kind(batch.kind), arm, wanted)
    arm.batch = batch
    sizes = measure_said(arm, messages, wanted, after)
    empty_in, tokens_out = count_most_tokens(make_request(arm, ""))
    known = {key: _price(arm, empty_in + size.count_most_tokens(tokens_out), tokens_out) for key, size in sizes.items()}
    whole = sum(known.get(key, 0) for key in chosen)
    return whole * len(ids) // count


def _price(arm: Arm, tokens_in: int, tokens_out: int) -> int:
    cost = compute_cost(tokens_in=tokens_in, tokens_out=tokens_out, price_in=arm.price_in, price_out=arm.price_out)
    return cost or 0


def _read_earlier(batch: Batch, arm: Arm) -> tuple[int, float | None, float | None]:
    """The calls of earlier batches with the same model and instructions, at this arm's prices: number, mean, deviation."""
    per_dollar = NANO / TOKENS_PER_PRICE
    price_in = Value(float(arm.price_in or 0) * per_dollar, FloatField())
    price_out = Value(float(arm.price_out or 0) * per_dollar, FloatField())
    cost = ExpressionWrapper(F("tokens_in") * price_in + F("tokens_out") * price_out, output_field=FloatField())
    calls = Attempt.objects.filter(
        arm__variant=arm.variant_id,
        arm__prompt_hash=arm.prompt_hash,
        arm__batch__study=batch.study_id,
        end=Attempt.End.ANSWERED,
        tokens_in__isnull=False,
        tokens_out__isnull=False,
    ).exclude(arm__batch=batch)
    found = calls.annotate(cost=cost).aggregate(n=Count("pk"), mean=Avg("cost"), deviation=StdDev("cost", sample=True))
    return found["n"], _as_float(found["mean"]), _as_float(found["deviation"])


def _as_float(figure: object) -> float | None:
    return None if figure is None else float(str(figure))


def _list_arms(batch: Batch) -> list[Arm]:
    return list(
        Arm.objects.filter(batch=batch).select_related("variant__account", "price", "capabilities").order_by("pk")
    )


def _read_share(batch: Batch, arm: Arm) -> Decimal:
    return arm.price.batch_share if arm.price and batch.route == Batch.Route.JOBS else Decimal(1)
