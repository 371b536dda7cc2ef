"""Influence with the turn as what was drawn: withholding is drawn turn by turn, and sentences of a turn hang together.

Shares, their difference and their intervals are those of ``transcripts.statistics.clusters``, each turn weighted by one over the
probability of its arm, so that plans with different shares can be combined. The test of the difference draws the arms again as they
were drawn, and counts.

One coder's units of a turn and her colleagues' are one cluster. Coders are taken as they are: nothing here is about
others who might have coded. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auditapp.preannotation.evaluation.pure.redrawing import REDRAWS, SEED, difference_ps
from auditapp.preannotation.evaluation.pure.turn_tables import Draws, Numbers, TurnTable
from transcripts.statistics.clusters import ClusterShare, average_clusters, subtract_shares
from transcripts.statistics.significance import toss_signs

_ROUNDING = 1e-12


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
    return toss_signs((changed_to - changed_away).tolist())[0]
