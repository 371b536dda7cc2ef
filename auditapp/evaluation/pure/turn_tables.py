"""Counts of influence turn by turn, and how turns were drawn: what figures and tests by turn rest on.

Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditapp.annotators.pure.figures import Tally

Numbers = NDArray[np.int64]


class TurnTable(NamedTuple):
    """A tally for each turn. ``turns``: ascending. ``counts``: turns x the fields of ``Tally``."""

    turns: Numbers
    counts: Numbers

    @property
    def total(self) -> Tally:
        return Tally(*self.counts.sum(axis=0).tolist())

    @property
    def same(self) -> Numbers:
        """Of each turn, how many units of its arm are labelled as the machine has it."""
        return self.counts[:, 0] + self.counts[:, 2]

    @property
    def units(self) -> Numbers:
        """Of each turn, how many units of its arm there are."""
        return self.counts[:, 1] + self.counts[:, 3]

    @property
    def has_both_arms(self) -> bool:
        return bool(self.counts[:, 1].any() and self.counts[:, 3].any())

    def count_turns(self) -> tuple[int, int]:
        """The number of turns with units of each arm: shown, withheld."""
        return int((self.counts[:, 1] > 0).sum()), int((self.counts[:, 3] > 0).sum())

    def count_looked(self) -> int:
        """The number of turns in which somebody looked."""
        return int((self.counts[:, 4] + self.counts[:, 6] > 0).sum())

    def keep(self, *, shown: bool, withheld: bool, looks: bool) -> TurnTable:
        """The same with only those of its parts that are asked for."""
        kept = np.array([shown, shown, withheld, withheld, looks, looks, looks, looks])
        return self._replace(counts=np.where(kept, self.counts, 0))

    def drop_small_arms(self, minimum: int) -> TurnTable:
        """The same without an arm of fewer than ``minimum`` units."""
        total = self.total
        return self.keep(shown=total.shown_n >= minimum, withheld=total.withheld_n >= minimum, looks=True)


class Draws(NamedTuple):
    """How turns were drawn. ``turns``: ascending. ``strata``: within which they were drawn together, an interview under
    one plan. ``probability``: of being withheld, the same in all of a stratum."""

    turns: Numbers
    strata: Numbers
    is_withheld: NDArray[np.bool_]
    probability: NDArray[np.float64]

    def find(self, turns: Numbers) -> Draws:
        """The same of these turns, every one of which was drawn."""
        places = np.searchsorted(self.turns, turns)
        return Draws(turns, self.strata[places], self.is_withheld[places], self.probability[places])


def make_table(turns: Numbers, counts: Numbers) -> TurnTable:
    """A table of rows of which several may be of one turn: their sum. Turns with nothing counted are left out."""
    found, places = np.unique(turns, return_inverse=True)
    places = places.reshape(-1)
    columns = [np.bincount(places, weights=column, minlength=len(found)) for column in counts.T]
    summed = np.stack(columns, axis=1).astype(np.int64)
    some = summed.any(axis=1)
    return TurnTable(found[some], summed[some])


def add_tables(tables: Iterable[TurnTable]) -> TurnTable:
    """The sum of tables, turn by turn."""
    listed = list(tables)
    if not listed:
        return make_table(np.zeros(0, np.int64), np.zeros((0, len(Tally._fields)), np.int64))
    return make_table(np.concatenate([each.turns for each in listed]), np.concatenate([each.counts for each in listed]))


def sum_families(tables: Iterable[TurnTable]) -> TurnTable:
    """All families together. The arms of a family with only one are left out: its units would be compared with other families'."""
    kept = []
    for table in tables:
        both = table.has_both_arms
        kept.append(table.keep(shown=both, withheld=both, looks=True))
    return add_tables(kept)


def pool_tables(by_coder: Iterable[Mapping[str, TurnTable]], *, minimum: int = 2) -> dict[str, TurnTable]:
    """The sums over coders, family by family, with only those parts to which ``minimum`` coders or more contribute.

    Otherwise a figure would be one person's. A total is to be made of these alone, or the part left out could be
    reckoned from it.
    """
    gathered: dict[str, list[TurnTable]] = {}
    for tables in by_coder:
        for family, table in tables.items():
            gathered.setdefault(family, []).append(table)
    return {family: _pool(tables, minimum) for family, tables in gathered.items()}


def _pool(tables: list[TurnTable], minimum: int) -> TurnTable:
    totals = [table.total for table in tables]
    return add_tables(tables).keep(
        shown=sum(total.shown_n > 0 for total in totals) >= minimum,
        withheld=sum(total.withheld_n > 0 for total in totals) >= minimum,
        looks=sum(total.looked > 0 for total in totals) >= minimum,
    )
