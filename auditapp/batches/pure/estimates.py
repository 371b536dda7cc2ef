"""What the remaining calls will cost, and how long they will take. Arithmetic only.

The calls of a pilot are a random sample of an arm's calls. From n of them with mean m and standard deviation s, the sum of r
further calls is predicted as r·m ± t·s·sqrt(r + r²/n), t being the quantile of Student's distribution with n-1 degrees of
freedom: r times the prediction interval for the mean of r future observations (Meeker, Hahn and Escobar, Statistical Intervals,
2nd ed., 2017, chapter 4). Over several arms the variances add, and the degrees of freedom are those of Satterthwaite (Biometrics
Bulletin 2, 1946, 110-114). The formula assumes that the sum of the costs is close to normally distributed. That holds for thirty
calls of bounded length, but not for a few calls with one very long answer among them.

Every amount is in nanodollars. Unknown values are ``None``, never 0. An interval needs two calls; with one or none, the most that
the calls can cost is used as its upper end. If all calls cost the same, the interval is a point.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

CONFIDENCE = 0.95
STEPS = 200
HALVINGS = 60
MANY = 1000


class Basis(StrEnum):
    """The basis of an arm's estimate."""

    ENDED = "ended"
    MEASURED = "measured"
    ONE_CALL = "one_call"
    EARLIER = "earlier"
    BOUND = "bound"
    UNPRICED = "unpriced"


IN_WORDS = {
    Basis.ENDED: "nothing is left to ask",
    Basis.MEASURED: "calls of this batch, with a 95 % prediction interval",
    Basis.ONE_CALL: "a single call of this batch, so there is no interval; the upper end is the most that the batch can cost",
    Basis.EARLIER: "earlier batches with this model and these instructions, so this is a guess; the upper end is the most "
    "that the batch can cost",
    Basis.BOUND: "no call yet; only the most that the batch can cost is known",
    Basis.UNPRICED: "the price of the model is not known",
}


@dataclass(frozen=True)
class ArmFigures:
    """What is known about an arm. ``n`` calls cost ``mean`` on average, with the sample standard deviation ``deviation``.
    ``highest`` is the most that the remaining calls can cost together. ``is_earlier``: the calls belong to earlier batches.
    ``is_open_ended``: the length of an answer is not limited, so ``highest`` is based on an assumption.
    """

    arm_id: int
    label: str
    left: int
    n: int = 0
    mean: float | None = None
    deviation: float | None = None
    highest: int | None = None
    is_priced: bool = True
    is_earlier: bool = False
    is_open_ended: bool = False


def estimate(arms: Sequence[ArmFigures], *, spent: int = 0, lost: int = 0) -> dict[str, Any]:
    """What a whole batch will have cost when it ends, including the amount already ``spent``: ``low``, ``mid`` and ``high``, with
    a ``sentence`` that says what they are based on or why there are none; and the same for the remaining calls of each arm.

    ``lost``: the most that ended calls of unknown cost can have cost, which ``high`` includes.
    """
    rows = [_estimate_arm(arm) for arm in arms]
    unpriced = sorted({row["label"] for row in rows if row["basis"] is Basis.UNPRICED})
    if unpriced:
        sentence = (
            f"No estimate: no price is known for {', '.join(unpriced)}. Record a price, and launch again with it."
        )
        return {"arms": rows, "low": None, "mid": None, "high": None, "sentence": sentence}
    measured = [arm for arm, row in zip(arms, rows, strict=True) if row["basis"] is Basis.MEASURED]
    others = [row for row in rows if row["basis"] not in {Basis.MEASURED, Basis.ENDED}]
    middle = sum(arm.left * (arm.mean or 0.0) for arm in measured)
    margin = _find_margin(measured)
    low = None if others else spent + max(0, math.floor(middle - margin))
    mids = [row["mid"] for row in others]
    mid = None if None in mids else spent + round(middle) + sum(each or 0 for each in mids)
    highs = [row["high"] for row in others]
    high = None
    if None not in highs:
        top = _limit(math.ceil(middle + margin), [arm.highest for arm in measured])
        high = spent + lost + top + sum(each or 0 for each in highs)
    return {
        "arms": rows,
        "low": low,
        "mid": mid,
        "high": high,
        "sentence": _word_basis(rows, lost) + _word_assumption(rows),
    }


def _estimate_arm(arm: ArmFigures) -> dict[str, Any]:
    low: int | None = None
    mid: int | None = None
    high = arm.highest
    basis = _choose_basis(arm)
    if basis is Basis.ENDED:
        low = mid = high = 0
    elif basis is Basis.UNPRICED:
        high = None
    elif basis is not Basis.BOUND and arm.mean is not None:
        mid = round(arm.left * arm.mean)
    if basis is Basis.MEASURED and mid is not None:
        margin = _find_margin([arm])
        low = max(0, math.floor(arm.left * (arm.mean or 0.0) - margin))
        high = _limit(math.ceil(arm.left * (arm.mean or 0.0) + margin), [arm.highest])
    return {**asdict(arm), "low": low, "mid": mid, "high": high, "basis": basis}


def _choose_basis(arm: ArmFigures) -> Basis:
    if not arm.is_priced:
        return Basis.UNPRICED
    if arm.left == 0:
        return Basis.ENDED
    if arm.n == 0 or arm.mean is None:
        return Basis.BOUND
    if arm.is_earlier:
        return Basis.EARLIER
    return Basis.MEASURED if arm.n > 1 and arm.deviation is not None else Basis.ONE_CALL


def _limit(amount: int, highest: Sequence[int | None]) -> int:
    """The amount, limited to the most that all calls can cost, if that is known."""
    known = [each for each in highest if each is not None]
    return min(amount, sum(known)) if known and len(known) == len(highest) else amount


def _find_margin(arms: Sequence[ArmFigures]) -> float:
    """Half the width of the prediction interval for the sum over these arms, each with two calls or more."""
    variances = [(arm.deviation or 0.0) ** 2 * (arm.left + arm.left**2 / arm.n) for arm in arms]
    whole = sum(variances)
    if whole == 0:
        return 0.0
    weights = sum(variance**2 / (arm.n - 1) for variance, arm in zip(variances, arms, strict=True))
    return find_t(whole**2 / weights) * math.sqrt(whole)


@lru_cache(maxsize=1024)
def find_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The two-sided quantile of Student's distribution: |T| stays below it with probability ``confidence``.

    With t = sqrt(f)·tan(u) the density becomes that of cos(u)^(f-1), which Simpson's rule takes exactly enough. Beyond a thousand
    degrees of freedom, the first term of the expansion around the normal quantile is accurate to six decimal places.
    """
    if freedom > MANY:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return z + (z**3 + z) / (4 * freedom)
    constant = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def cover(t: float) -> float:
        end = math.atan(t / math.sqrt(freedom))
        step = end / STEPS
        heights = [math.pow(math.cos(step * place), freedom - 1) for place in range(STEPS + 1)]
        return constant * step / 3 * (heights[0] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]) + heights[-1])

    low, high = 0.0, 1.0
    while cover(high) < confidence:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if cover(middle) < confidence else (low, middle)
    return high


def _word_basis(rows: Sequence[Mapping[str, Any]], lost: int) -> str:
    """One sentence for all arms, by the weakest basis among them."""
    bases = {row["basis"] for row in rows}
    if bases <= {Basis.ENDED} and lost:
        return "All calls have been made. Calls with an unknown cost may add to the amount spent."
    if bases <= {Basis.ENDED}:
        return "All calls have been made. The amount spent is the final cost."
    for basis in (Basis.BOUND, Basis.EARLIER, Basis.ONE_CALL):
        if basis in bases:
            weakest = [row for row in rows if row["basis"] is basis]
            which = "" if len(weakest) == len(rows) else f" for {', '.join(sorted({row['label'] for row in weakest}))}"
            return f"Based on {IN_WORDS[basis]}{which}."
    calls = sum(row["n"] for row in rows)
    if all(row["deviation"] == 0 for row in rows if row["basis"] is Basis.MEASURED):
        return f"Based on {calls:,} calls of this batch; within each arm, all cost the same."
    return f"Based on {calls:,} calls of this batch, with a 95 % prediction interval."


def _word_assumption(rows: Sequence[Mapping[str, Any]]) -> str:
    """A further sentence if a model has no longest answer, so that its calls have no highest price; else nothing."""
    labels = sorted({row["label"] for row in rows if row["is_open_ended"] and row["basis"] is not Basis.ENDED})
    if not labels:
        return ""
    return f" The length of answers has no known limit for {', '.join(labels)}, so a long answer may cost more."


def estimate_time(left: int, *, answers: int, seconds: float, window: str) -> tuple[float | None, str]:
    """Seconds for ``left`` cells at the rate of ``answers`` in ``seconds`` (a period named by ``window``), and the basis of this
    figure."""
    if left == 0:
        return 0.0, "nothing is left to ask"
    if answers == 0 or seconds <= 0:
        return None, f"no answer in {window}"
    noun = "answer" if answers == 1 else "answers"
    return left * seconds / answers, f"{answers:,} {noun} in {window}"


NANO = 1_000_000_000
TOKENS_PER_PRICE = 1_000_000
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
ANSWERS_PER_CALL = ("n", "best_of")


def to_nano(dollars: Decimal) -> int:
    """US dollars as whole nanodollars, rounded half up."""
    return int((dollars * NANO).to_integral_value(rounding=ROUND_HALF_UP))


def to_dollars(nano: int | None) -> Decimal | None:
    """Whole nanodollars as US dollars; ``None`` stays ``None``."""
    return None if nano is None else Decimal(nano) / NANO


def compute_cost(
    *, tokens_in: int | None, tokens_out: int | None, price_in: Decimal | None, price_out: Decimal | None
) -> int | None:
    """Cost in nanodollars, rounded up, for prices in dollars per million tokens; ``None`` when a number is not known."""
    if tokens_in is None or tokens_out is None or price_in is None or price_out is None:
        return None
    return math.ceil((tokens_in * price_in + tokens_out * price_out) * NANO / TOKENS_PER_PRICE)


def count_most_input(prompt: str, *, earlier_messages: int = 0) -> int:
    """The most tokens that a call can send, because no tokenizer produces more tokens than there are bytes. 64 tokens are added
    for the chat format, and 16 for each earlier message of a conversation, whose texts are part of ``prompt``."""
    return len(prompt.encode()) + 64 + 16 * earlier_messages


def count_most_output(max_tokens: int, parameters: Mapping[str, object]) -> int:
    """The most tokens that a call can return, taking into account that its parameters may raise the limit or ask for several
    answers."""
    limits = [max_tokens, *(_count(parameters.get(name), 0) for name in OUTPUT_LIMITS)]
    thinking = parameters.get("thinking")
    budget = _count(thinking.get("budget_tokens"), 0) if isinstance(thinking, Mapping) else 0
    return (max(limits) + budget) * max(1, *(_count(parameters.get(name), 1) for name in ANSWERS_PER_CALL))


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value > 0 else otherwise


def write_dollars(amount: Decimal | Literal[""] | None) -> str:
    """US dollars with as many decimal places as small amounts need; a dash if not known. Templates pass "" for a missing field."""
    if amount is None or amount == "":
        return "–"
    if amount == 0:
        return "$0"
    if amount >= Decimal("0.1"):
        return f"${amount:,.2f}"
    whole, _, places = f"{amount:.6f}".partition(".")
    if not places.strip("0"):
        return "under $0.000001"
    return f"${whole}.{places.rstrip('0').ljust(2, '0')}"


class Share(NamedTuple):
    """A part of what a batch has committed: the day, and the person who committed it (her key; ``None`` for a command)."""

    day: datetime.date
    person: int | None
    nano: int


def add_up(rows: Iterable[Share]) -> list[Share]:
    """What remains committed after all returns: one share for each day and person, in the order in which they first committed."""
    sums: dict[tuple[datetime.date, int | None], int] = {}
    for row in rows:
        sums[row.day, row.person] = sums.get((row.day, row.person), 0) + row.nano
    return [Share(day, person, nano) for (day, person), nano in sums.items() if nano]


def settle(rows: Iterable[Share], spent: int) -> list[Share]:
    """How an ended batch counts: the amount that it spent is distributed over its shares from the first to the last. Any excess
    counts with the last share."""
    standing = add_up(rows)
    settled: list[Share] = []
    for place, share in enumerate(standing):
        is_last = place == len(standing) - 1
        nano = spent if is_last else min(share.nano, spent)
        spent -= nano
        if nano:
            settled.append(share._replace(nano=nano))
    return settled


def find_changes(
    before: Sequence[Share], counted: Sequence[Share], target: int, *, day: datetime.date, person: int | None
) -> list[Share]:
    """The rows to add so that a batch has committed ``target``. ``before`` are its rows, of which ``counted`` counts now.

    An increase is committed by this person on this day; a decrease is returned to the last shares first.
    """
    kept = settle(counted, min(target, sum(share.nano for share in counted)))
    wanted = [*kept, Share(day, person, target - sum(share.nano for share in kept))]
    undone = [share._replace(nano=-share.nano) for share in before]
    return add_up([*undone, *wanted])


def sum_shares(shares: Iterable[Share], *, day: datetime.date, person: int | None) -> tuple[int, int, int]:
    """The amounts that count against the three limits: the total, that of this day, and that of this person on this day."""
    total = of_day = of_person = 0
    for share in shares:
        total += share.nano
        if share.day == day:
            of_day += share.nano
            if person is not None and share.person == person:
                of_person += share.nano
    return total, of_day, of_person


MIN_CAME = 5
"""From this number of answers on, it is an alarm if none could be read."""


def describe_unreadable(came: int, readable: int, no_room: int = 0) -> str:
    """The alarm that none of the received answers could be read; "" if some could be read or too few were received. ``no_room``:
    the answers that are empty because the output limit was used up before they began."""
    if readable or came < MIN_CAME:
        return ""
    said = f"none of its {came:,} answers could be read."
    if no_room:
        whose = "all of them are" if no_room == came else f"{no_room:,} of them {'is' if no_room == 1 else 'are'}"
        said += f" {whose[0].upper()}{whose[1:]} empty, because the model used up its output limit before it answered."
    return said
