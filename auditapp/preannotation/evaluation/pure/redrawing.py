"""Whether a difference between the arms could be chance: the arms are drawn again in the same way, and counted.

Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from auditapp.preannotation.evaluation.pure.turn_tables import Draws, Numbers, TurnTable

SEED = 1
REDRAWS = 1_999
MAX_COUNTED = 10_000
"""Where no more draws than these were possible, each of them is tried instead of a sample."""
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
    """So many times ``number`` places out of ``size``, each as likely as any other."""
    return np.concatenate(list(_draw_blocks(generator, size, number, times)))


def _draw_blocks(generator: np.random.Generator, size: int, number: int, times: int) -> Iterator[Numbers]:
    rows = max(1, _BLOCK // size)
    for first in range(0, times, rows):
        keys = generator.random((min(rows, times - first), size), dtype=np.float32)
        yield np.argpartition(keys, number - 1, axis=1)[:, :number]
