"""Influence with the turn as what was drawn: withholding is drawn turn by turn, and sentences of a turn hang together.

Shares are ratios of sums over turns, each turn weighted by one over the probability of its arm, so that plans with
different shares can be combined. Their variance is linearised over turns (Cochran 1977, chapter 6): G / (G - 1) times
the sum of the squared weighted residuals of a turn, over the squared sum of weights. An interval is Newcombe's hybrid-score
one (1998, method 10) with Wilson's of the effective number of units, that is the number over the design effect (Rao and
Scott 1992, Biometrics 48:577), and Student's t of G - 1 degrees instead of the normal (as Korn and Graubard 1998, Survey
Methodology 24:193). The test of the difference draws the arms again as they were drawn, and counts.

One coder's units of a turn and her colleagues' are one cluster. Coders are taken as they are: nothing here is about
others who might have coded. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditapp.preannotation.evaluation.pure.redrawing import REDRAWS, SEED, difference_ps
from auditapp.preannotation.evaluation.pure.turn_tables import Draws, Numbers, TurnTable
from transcripts.statistics.intervals import Interval

_ROUNDING = 1e-12


class TurnShare(NamedTuple):
    """A share over turns. ``variance`` is None where there is but one turn; ``effective`` is the number of independent
    units that would tell as much, never above ``n``."""

    value: float
    n: int
    turns: int
    variance: float | None
    effective: float

    @property
    def interval(self) -> Interval | None:
        """Wilson's of the effective number of units, by Student's t; None from one turn."""
        from scipy.special import stdtrit

        if self.variance is None:
            return None
        t, n, share = float(stdtrit(self.turns - 1, 0.975)), self.effective, self.value
        scale = 1 + t * t / n
        middle, spread = share + t * t / (2 * n), t * math.sqrt(share * (1 - share) / n + t * t / (4 * n * n))
        return Interval(max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


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
    shown = average_turns(same[~held], units[~held], 1 / (1 - probability[~held]))
    withheld = average_turns(same[held], units[held], 1 / probability[held])
    return {
        "shown": shown,
        "withheld": withheld,
        "difference": None if shown is None or withheld is None else shown.value - withheld.value,
        "interval": _bound(shown, withheld),
        "design_effect": _find_design_effect(shown, withheld),
        "p_difference": p_difference,
        "switch": average_turns(counts[:, 5], counts[:, 4], np.ones(len(counts))),
        "p_direction": direction_p(counts[:, 5], counts[:, 7]),
    }


def average_turns(same: Numbers, units: Numbers, weights: NDArray[np.float64]) -> TurnShare | None:
    """The weighted share over turns; None where there is no unit.

    Where every unit is alike nothing is seen to vary, and each turn counts as one unit. Units never count for more than
    they are.
    """
    some = units > 0
    same, units, weights = same[some], units[some], weights[some]
    turns, n = len(units), int(units.sum())
    if not turns:
        return None
    size = float(weights @ units)
    share = float(weights @ same) / size
    if turns == 1:
        return TurnShare(share, n, turns, None, 1.0)
    residuals = weights * (same - share * units)
    variance = turns / (turns - 1) * float(residuals @ residuals) / size**2
    if not 0 < int(same.sum()) < n:
        return TurnShare(float(same[0] > 0), n, turns, 0.0, float(turns))
    return TurnShare(share, n, turns, variance, min(float(n), share * (1 - share) / max(variance, _ROUNDING / n)))


def _bound(shown: TurnShare | None, withheld: TurnShare | None) -> Interval | None:
    """Newcombe's hybrid of both intervals."""
    one, other = shown.interval if shown else None, withheld.interval if withheld else None
    if shown is None or withheld is None or one is None or other is None:
        return None
    difference = shown.value - withheld.value
    low = math.hypot(shown.value - one.low, other.high - withheld.value)
    high = math.hypot(one.high - shown.value, withheld.value - other.low)
    return Interval(max(-1.0, difference - low), min(1.0, difference + high))


def _find_design_effect(*shares: TurnShare | None) -> float | None:
    """The variance over turns to that of independent units; None where nothing varies."""
    found = [each for each in shares if each is not None and each.variance is not None]
    alone = sum(each.value * (1 - each.value) / each.n for each in found)
    if len(found) < len(shares) or alone < _ROUNDING:
        return None
    return sum(each.variance or 0.0 for each in found) / alone


def direction_p(changed_to: Numbers, changed_away: Numbers) -> float | None:
    """Two-sided exact test that the changes of a turn go either way alike; None without a change.

    Turns are what is independent: the net change of each is as likely one way as the other, whatever its size. This is
    McNemar's exact test where no turn has more than one change, and for many turns the clustered test of Obuchowski (1998,
    Statistics in Medicine 17:1495), whose statistic is the squared sum of net changes over the sum of their squares.
    """
    if not (changed_to.any() or changed_away.any()):
        return None
    net = changed_to - changed_away
    sizes = np.abs(net[net != 0])
    total = int(sizes.sum())
    # By how many changes go towards the machine: the share of all ways to turn the signs.
    ways = np.zeros(total + 1)
    ways[0] = 1.0
    for size in sizes.tolist():
        turned = ways / 2
        turned[size:] += ways[:-size] / 2
        ways = turned
    far = np.abs(2 * np.arange(total + 1) - total) >= abs(int(net.sum()))
    return min(1.0, float(ways[far].sum()))
