"""Money in whole nanodollars (1e-9 US dollars), exact to add; and that of a grant which batches have committed."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple

NANO = 1_000_000_000
TOKENS_PER_PRICE = 1_000_000
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
ANSWERS_PER_CALL = ("n", "best_of")


def to_nano(dollars: Decimal) -> int:
    """US dollars as whole nanodollars, rounded half up."""
    return int((dollars * NANO).to_integral_value(rounding=ROUND_HALF_UP))


def to_dollars(nano: int | None) -> Decimal | None:
    """Whole nanodollars as US dollars; unknown stays unknown."""
    return None if nano is None else Decimal(nano) / NANO


def compute_cost(
    *, tokens_in: int | None, tokens_out: int | None, price_in: Decimal | None, price_out: Decimal | None
) -> int | None:
    """Cost in nanodollars, rounded up, for prices in dollars per million tokens; ``None`` when a number is not known."""
    if tokens_in is None or tokens_out is None or price_in is None or price_out is None:
        return None
    return math.ceil((tokens_in * price_in + tokens_out * price_out) * NANO / TOKENS_PER_PRICE)


def count_most_input(prompt: str, *, earlier_messages: int = 0) -> int:
    """The most tokens that a call can send: no tokenizer produces more tokens than there are bytes. 64 tokens allow for the
    chat format, and 16 for each of the earlier messages of a conversation, whose texts are part of ``prompt``."""
    return len(prompt.encode()) + 64 + 16 * earlier_messages


def count_most_output(max_tokens: int, parameters: Mapping[str, object]) -> int:
    """The most tokens that a call can return, when its parameters may raise the limit or ask for several answers."""
    limits = [max_tokens, *(_count(parameters.get(name), 0) for name in OUTPUT_LIMITS)]
    thinking = parameters.get("thinking")
    budget = _count(thinking.get("budget_tokens"), 0) if isinstance(thinking, Mapping) else 0
    return (max(limits) + budget) * max(1, *(_count(parameters.get(name), 1) for name in ANSWERS_PER_CALL))


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and value > 0 else otherwise


def write_dollars(amount: Decimal | Literal[""] | None) -> str:
    """US dollars with as many places as small amounts need; a dash where not known. Templates pass "" for a missing field."""
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
    """A part of what a batch has committed: on which day, by which person (her key; ``None`` for a command)."""

    day: datetime.date
    person: int | None
    nano: int


def add_up(rows: Iterable[Share]) -> list[Share]:
    """What stands after all returns: one share for each day and person, in the order in which they first committed."""
    sums: dict[tuple[datetime.date, int | None], int] = {}
    for row in rows:
        sums[row.day, row.person] = sums.get((row.day, row.person), 0) + row.nano
    return [Share(day, person, nano) for (day, person), nano in sums.items() if nano]


def settle(rows: Iterable[Share], spent: int) -> list[Share]:
    """What a batch that has ended counts with: what it spent, filled into its shares from the first to the last. What goes
    beyond all of them counts with the last."""
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

    More is committed by this person on this day; less is returned to the last shares first.
    """
    kept = settle(counted, min(target, sum(share.nano for share in counted)))
    wanted = [*kept, Share(day, person, target - sum(share.nano for share in kept))]
    undone = [share._replace(nano=-share.nano) for share in before]
    return add_up([*undone, *wanted])


def sum_shares(shares: Iterable[Share], *, day: datetime.date, person: int | None) -> tuple[int, int, int]:
    """What counts against the three limits: everything, this day's, and this person's of this day."""
    total = of_day = of_person = 0
    for share in shares:
        total += share.nano
        if share.day == day:
            of_day += share.nano
            if person is not None and share.person == person:
                of_person += share.nano
    return total, of_day, of_person
