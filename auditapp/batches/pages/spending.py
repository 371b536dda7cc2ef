"""What a batch cost and what the rest will cost: by arm and day, at which prices; calls of conversations averaged by depth."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import fmean, variance
from typing import Any

from django.db.models import Avg, Count, ExpressionWrapper, F, FloatField, Q, StdDev, Sum, Value
from django.db.models.functions import Coalesce, TruncDate

from auditapp.batches.kinds import get_kind
from auditapp.batches.ledger.prompts import count_most_tokens, make_request, write_messages
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pages.progress import FINISHED, NO_CALLS
from auditapp.batches.pages.reviewing import measure_said
from auditapp.batches.pure.estimating import (
    NANO,
    TOKENS_PER_PRICE,
    ArmFigures,
    compute_cost,
    estimate,
    to_dollars,
    write_dollars,
)
from auditapp.llm.queries import is_open_ended
from transcripts.formats.report_tables import ReportTable, TableRow, declare

MIN_CALLS = 2
MAX_PROMPTS_READ = 2000

# The number of calls of an arm, the mean of their costs in nanodollars and its deviation.
NO_CALLS_YET = (0, None, None)
PAID_ENDS = (Attempt.End.ANSWERED, Attempt.End.SURPLUS, Attempt.End.FAILED)


def list_after(arm: Arm) -> dict[int, int]:
    """Which of the arm's inputs continues which other."""
    chained = Cell.objects.filter(arm=arm, after__isnull=False).order_by("pk")
    return dict(chained.values_list("input_id", "after__input_id"))


def list_before(inputs: Sequence[int], after: Mapping[int, int]) -> list[int]:
    """What is asked before these inputs, each behind what it continues itself."""
    found: dict[int, None] = {}
    for each in inputs:
        chain = []
        while (each := after.get(each, 0)) and each not in found:
            chain.append(each)
        found |= dict.fromkeys(reversed(chain))
    return list(found)


def read_own_by_depth(arm: Arm) -> tuple[int, float | None, float | None]:
    """The calls of a chained arm: their number, and mean and deviation of what a call that is left will cost, in nanodollars.

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
    """How many inputs are asked before each."""

    def __init__(self, after: Mapping[int, int]) -> None:
        self.after = after
        self.known: dict[int, int] = {}

    def find(self, input_id: int) -> int:
        """The depth of an input, 0 for one that continues none."""
        chain = [input_id]
        while chain[-1] in self.after and chain[-1] not in self.known:
            chain.append(self.after[chain[-1]])
        depth = self.known.get(chain[-1], 0)
        for each in reversed(chain[:-1]):
            depth += 1
            self.known[each] = depth
        return depth


def read_spend(batch: Batch) -> list[dict[str, Any]]:
    """What the calls of each arm cost, by the day (UTC) on which they were begun; one query besides the arms.

    ``nano`` is what is known to be spent, in nanodollars; ``None`` where the arm has no price. ``unpriced_calls`` ended
    without giving their tokens. ``unknown_calls`` were sent and their end was lost: they may have cost ``unknown_nano`` at
    most, ``None`` as above.
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
    """How many answers were taken from earlier calls, and what asking again would have cost, by the tokens of those calls at
    this batch's prices; ``None`` where that is not known."""
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
    """What the batch will have cost at its end, estimated from its own calls. Where an arm has fewer than two, from earlier
    batches of the study with the same model and instructions, and from the most that each call can cost."""
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
    """What is to be known before a batch goes on under this cap, by its estimate: whether it may stop before its end. Empty where
    it will not, and where there is no cap or no estimate."""
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
        f"{ends}, with some arms further along than others. Raise the cap if you want every cell answered."
    )


def _read_figures(batch: Batch, arm: Arm, left: int, own: tuple[int, float | None, float | None]) -> ArmFigures:
    label = f"{arm.variant.label}, {arm.task}"
    is_priced = arm.price_in is not None and arm.price_out is not None
    is_open = bool(arm.price_out) and is_open_ended(arm.variant, arm.capabilities)
    if batch.has_chains:
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
    """The most that the arm's remaining calls can cost. Of more than two thousand texts, as many are read, evenly spaced, to
    represent all."""
    cells = Cell.objects.filter(arm=arm).exclude(state__in=FINISHED)
    ids = list(cells.order_by("pk").values_list("input_id", flat=True))
    count = min(len(ids), MAX_PROMPTS_READ)
    chosen = [ids[place * len(ids) // count] for place in range(count)]
    after = list_after(arm) if batch.has_chains else {}
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
