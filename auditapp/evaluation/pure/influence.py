"""Influence, with the turn as the unit of the draw: turns are drawn to be withheld, and sentences of a turn depend on one
another.

Figures and tests by turn are based on counts for each turn and on how the turns were drawn. Shares, their difference and their
intervals are those of ``transcripts.statistics.resampling``, each turn weighted by one over the probability of its arm, so that
plans with different shares can be combined. The test of the difference draws the arms again in the same way and counts.

All units of a turn, from all coders, are one cluster. Coders are treated as fixed: no conclusion is drawn about other people who
might have coded. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditapp.annotators.pure.figures import Tally
from transcripts.statistics.resampling import ClusterShare, average_clusters, subtract_shares
from transcripts.statistics.significance import toss_signs

Numbers = NDArray[np.int64]


class TurnTable(NamedTuple):
    """One tally for each turn. ``turns``: ascending. ``counts``: turns x the fields of ``Tally``."""

    turns: Numbers
    counts: Numbers

    @property
    def total(self) -> Tally:
        return Tally(*self.counts.sum(axis=0).tolist())

    @property
    def same(self) -> Numbers:
        """For each turn, how many units of its arm have the same label as the machine's."""
        return self.counts[:, 0] + self.counts[:, 2]

    @property
    def units(self) -> Numbers:
        """For each turn, the number of units of its arm."""
        return self.counts[:, 1] + self.counts[:, 3]

    @property
    def has_both_arms(self) -> bool:
        return bool(self.counts[:, 1].any() and self.counts[:, 3].any())

    def count_turns(self) -> tuple[int, int]:
        """The number of turns with units of each arm: shown, withheld."""
        return int((self.counts[:, 1] > 0).sum()), int((self.counts[:, 3] > 0).sum())

    def count_looked(self) -> int:
        """The number of turns in which a coder opened suggestions."""
        return int((self.counts[:, 4] + self.counts[:, 6] > 0).sum())

    def keep(self, *, shown: bool, withheld: bool, looks: bool) -> TurnTable:
        """The same with only the requested parts."""
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
    """A table in which rows of the same turn are added up. Turns with nothing counted are left out."""
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
    """All families together. If a family has units in only one arm, its arm is left out, because its units would be compared
    with those of other families."""
    kept = []
    for table in tables:
        both = table.has_both_arms
        kept.append(table.keep(shown=both, withheld=both, looks=True))
    return add_tables(kept)


def pool_tables(by_coder: Iterable[Mapping[str, TurnTable]], *, minimum: int = 2) -> dict[str, TurnTable]:
    """The sums over coders, family by family, with only those parts to which at least ``minimum`` coders contribute.

    Otherwise a figure could be that of one person. A total must be computed from these parts alone, or the part that was left out
    could be calculated from it.
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


SEED = 1
REDRAWS = 1_999
MAX_COUNTED = 10_000
"""If no more draws than these are possible, each of them is tried instead of a sample."""
_BLOCK = 2_000_000
_ROUNDING = 1e-12


def difference_ps(
    tables: Mapping[str, TurnTable], draws: Draws, *, seed: int = SEED, redraws: int = REDRAWS
) -> dict[str, float | None]:
    """Of each table the share of draws whose difference is at least as large, either way, as the one that was drawn.

    Arms are drawn again among the turns with units, in each stratum as many withheld as were. Each possible draw is tried
    where they are few; else ``redraws`` of them, and the one that was drawn is counted with them, so that p is never 0
    (Phipson and Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9:39). None where no other draw was
    possible, or an arm is empty. A draw that leaves an arm without units says nothing and is not counted.
    """
    # Turns of a table with one arm would be here because of their arm, and others would not.
    whole = {name: table for name, table in tables.items() if table.has_both_arms}
    found: dict[str, float | None] = dict.fromkeys(tables)
    if not whole:
        return found
    turns = np.unique(np.concatenate([table.turns[table.units > 0] for table in whole.values()]))
    drawn = draws.find(turns)
    every = (np.flatnonzero(drawn.strata == stratum) for stratum in np.unique(drawn.strata))
    strata = [each for each in every if 0 < drawn.is_withheld[each].sum() < len(each)]
    held = [int(drawn.is_withheld[each].sum()) for each in strata]
    possible = math.prod(math.comb(len(each), number) for each, number in zip(strata, held, strict=True))
    if possible < 2:
        return found
    is_whole = possible <= MAX_COUNTED
    sums = {name: _Sums(table, drawn) for name, table in whole.items()}
    generator = np.random.default_rng(seed)
    for places, number in zip(strata, held, strict=True):
        choices = _list_all(len(places), number) if is_whole else _draw(generator, len(places), number, redraws)
        for each in sums.values():
            each.redraw(places, choices, is_whole=is_whole)
    return found | {name: each.find_p(is_whole=is_whole) for name, each in sums.items()}


class _Sums:
    """Of one table the weighted sums of either arm, as they were drawn and as they come out when drawn again."""

    def __init__(self, table: TurnTable, drawn: Draws) -> None:
        some = table.units > 0
        self.counts = np.zeros((len(drawn.turns), 2))
        self.counts[np.searchsorted(drawn.turns, table.turns[some])] = np.stack([table.same, table.units], axis=1)[some]
        self.drawn = drawn
        self.moves = np.zeros((1, 4))

    def redraw(self, places: Numbers, choices: Numbers, *, is_whole: bool) -> None:
        """Draw the turns at ``places`` again: each row of ``choices`` says which of them are withheld."""
        counts, probability = self.counts[places], self.drawn.probability[places[0]]
        drawn = counts[self.drawn.is_withheld[places]].sum(axis=0)
        more = np.stack([column[choices].sum(axis=1) for column in counts.T], axis=1) - drawn
        # What comes to the withheld is shown no more, and either arm has its weight.
        moves = np.concatenate([more / probability, -more / (1 - probability)], axis=1)
        # Every draw here goes with every one of the strata before, or the first with the first.
        self.moves = (self.moves[:, None] + moves).reshape(-1, 4) if is_whole else self.moves + moves

    def find_p(self, *, is_whole: bool) -> float:
        held, probability = self.drawn.is_withheld, self.drawn.probability
        withheld = self.counts[held].T @ (1 / probability[held])
        shown = self.counts[~held].T @ (1 / (1 - probability[~held]))
        observed = shown[0] / shown[1] - withheld[0] / withheld[1]
        found = np.concatenate([withheld, shown]) + self.moves
        found = found[(found[:, 1] > _ROUNDING) & (found[:, 3] > _ROUNDING)]
        differences = found[:, 2] / found[:, 3] - found[:, 0] / found[:, 1]
        far = int((np.abs(differences) >= abs(observed) - 1e-9).sum())
        return far / len(differences) if is_whole else (far + 1) / (len(differences) + 1)


def _list_all(size: int, number: int) -> Numbers:
    return np.array(list(combinations(range(size), number)), dtype=np.int64)


def _draw(generator: np.random.Generator, size: int, number: int, times: int) -> Numbers:
    """``times`` random choices of ``number`` places out of ``size``, all equally likely."""
    return np.concatenate(list(_draw_blocks(generator, size, number, times)))


def _draw_blocks(generator: np.random.Generator, size: int, number: int, times: int) -> Iterator[Numbers]:
    rows = max(1, _BLOCK // size)
    for first in range(0, times, rows):
        keys = generator.random((min(rows, times - first), size), dtype=np.float32)
        yield np.argpartition(keys, number - 1, axis=1)[:, :number]


def measure_by_turn(
    tables: Mapping[str, TurnTable], draws: Draws, *, seed: int = SEED, redraws: int = REDRAWS
) -> dict[str, dict[str, Any]]:
    """The figures of each table; None where there is nothing to count, or too few turns to say how sure it is.

    ``design_effect``: by what the variance of the difference is larger than if units were independent. ``p_difference``:
    of the draws that could have been, the share with a difference at least as large. ``p_direction``: of
    ``direction_p``. The arms are drawn again once for all tables.
    """
    found = difference_ps(tables, draws, seed=seed, redraws=redraws)
    return {name: _measure(table, draws, found[name]) for name, table in tables.items()}


def _measure(table: TurnTable, draws: Draws, p_difference: float | None) -> dict[str, Any]:
    some, counts = table.units > 0, table.counts
    drawn, same, units = draws.find(table.turns[some]), table.same[some], table.units[some]
    held, probability = drawn.is_withheld, drawn.probability
    shown = average_clusters(same[~held], units[~held], 1 / (1 - probability[~held]))
    withheld = average_clusters(same[held], units[held], 1 / probability[held])
    difference = subtract_shares(shown, withheld)
    return {
        "shown": shown,
        "withheld": withheld,
        "difference": difference.value,
        "interval": difference.interval,
        "design_effect": _find_design_effect(shown, withheld),
        "p_difference": p_difference,
        "switch": average_clusters(counts[:, 5], counts[:, 4]),
        "p_direction": direction_p(counts[:, 5], counts[:, 7]),
    }


def _find_design_effect(*shares: ClusterShare | None) -> float | None:
    """The variance over turns divided by that of independent units; None if nothing varies."""
    found = [each for each in shares if each is not None and each.variance is not None]
    alone = sum(each.value * (1 - each.value) / each.n for each in found)
    if len(found) < len(shares) or alone < _ROUNDING:
        return None
    return sum(each.variance or 0.0 for each in found) / alone


def direction_p(changed_to: Numbers, changed_away: Numbers) -> float | None:
    """Two-sided exact test that the changes in a turn are equally likely in both directions; None without a change.

    Turns are treated as independent: the net change of each is as likely in one direction as in the other, whatever its size.
    This is McNemar's exact test where no turn has more than one change, and for many turns the clustered test of Obuchowski
    (1998, Statistics in Medicine 17:1495), whose statistic is the squared sum of net changes over the sum of their squares.
    """
    if not (changed_to.any() or changed_away.any()):
        return None
    return toss_signs((changed_to - changed_away).tolist())[0]
