"""How far the score moves when the same question is asked again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from auditapp.sob.pure.measures.scores import CellKey, GroupTable, name_place
from auditapp.sob.pure.measures.tallies import Repeats


def spread_repeats(
    repeats: Repeats, table: GroupTable, *, targets: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """The scores of each repeat by itself, in paper counting, JSON-ready (method brief R47; the paper asks once).

    ``sd`` is that of a sample (n - 1).

    A repeat without a usable answer has no score and is not counted; a cell with fewer than two scores has no spread.
    """
    scores: dict[CellKey, dict[int, float]] = {}
    for (model, task, target, repeat), (usable, attributes) in repeats.items():
        if usable:
            scores.setdefault((model, task, target), {})[repeat] = attributes / usable
    rows: list[dict[str, object]] = []
    for cell in table.list_keys(targets):
        found = scores.get(cell, {})
        if len(found) > 1:
            values = tuple(found[repeat] for repeat in sorted(found))
            spread = {"sd": statistics.stdev(values), "lowest": min(values), "highest": max(values)}
            rows.append({**name_place(cell), "n_repeats": len(values), "values": values, **spread})
    return rows
