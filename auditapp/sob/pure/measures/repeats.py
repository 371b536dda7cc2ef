"""How far the score moves when the same question is asked again."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from auditapp.sob.pure.measures.scores import CellKey, GroupTable
from auditapp.sob.pure.measures.tallies import RepeatKey, RepeatSum


def spread_repeats(
    repeats: Mapping[RepeatKey, RepeatSum], table: GroupTable, *, targets: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """The scores of each repeat by itself, in paper counting, JSON-ready (method brief R47; the paper asks once).

    ``sd`` is that of a sample (n - 1).

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
            row: dict[str, object] = {**cell._asdict(), "n_repeats": len(values), "values": values}
            spread = {"sd": statistics.stdev(values), "lowest": min(values), "highest": max(values)}
            rows.append(row | spread)
    return rows
