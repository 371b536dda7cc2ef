"""The money of a grant that batches have committed: arithmetic over rows, in nanodollars."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple


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
