"""How far the score moves when the same question is asked again."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from auditapp.sob.pure.measures.scores import CellKey, GroupTable
from auditapp.sob.pure.measures.tallies import RepeatKey, RepeatSum


class RepeatSpread(NamedTuple):
    """The scores of one cell by repeat, only where there is more than one; ``sd`` is the sample's (n - 1)."""

    model: str
    task: str
    target: str
    n_repeats: int
    values: tuple[float, ...]
    sd: float
    lowest: float
    highest: float


def spread_repeats(
    repeats: Mapping[RepeatKey, RepeatSum], table: GroupTable, *, targets: Sequence[str] | None = None
) -> list[RepeatSpread]:
    """The scores of each repeat by itself, in paper counting (method brief R47; the paper asks once).

    A repeat without a usable answer has no score and is not counted; a cell with fewer than two scores has no spread.
    """
    scores: dict[CellKey, dict[int, float]] = {}
    for key, each in repeats.items():
        if each.usable:
            cell = CellKey(key.model, key.task, key.target)
            scores.setdefault(cell, {})[key.repeat] = each.attributes / each.usable
    rows = []
    for cell in table.list_keys(targets):
        found = scores.get(cell, {})
        if len(found) > 1:
            values = tuple(found[repeat] for repeat in sorted(found))
            spread = statistics.stdev(values)
            rows.append(RepeatSpread(*cell, len(values), values, spread, min(values), max(values)))
    return rows
