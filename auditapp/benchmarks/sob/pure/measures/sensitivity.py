"""How the scores move: with each rule of counting, changed one at a time, and when the same question is asked again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from auditapp.benchmarks.sob.pure.measures.scores import (
    CellKey,
    GroupTable,
    divide,
    name_place,
    score_as_released,
    subtract,
)
from auditapp.benchmarks.sob.pure.measures.tallies import Repeats
from auditapp.benchmarks.sob.pure.parsing import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RULES = {
    "placeholders_unknown": 'Placeholder values such as "any" or "not specified" count as Unknown.',
    "schema_only": "Only the characteristics of the schema count, each once.",
    "strict": "Strict counting: both of these rules together.",
    "lists_split": "Every item of a list counts by itself.",
    "empty_attributed": "An object without a known value counts as attributed, as in the release.",
    "refusals_unknown": "Refusals count as Unknown.",
    "nulls_unknown": "Answers that are empty, cut off, off format or never came count as Unknown, as the release does by mistake.",
    "repaired_left_out": "Answers whose JSON had to be repaired are left out.",
    "rules_layer_only": "Answers that only the formatter or a person could read are left out.",
    "released_rounding": "Counted and rounded twice to three decimals, as in the release.",
}
"""Each rule in a sentence, in the order of the panel."""


def vary_rules(table: GroupTable, *, targets: Sequence[str] | None = None) -> list[dict[str, object]]:
    """Every cell under every rule of ``RULES``, JSON-ready (the released pipeline's habits: method brief R38 and R48).

    ``change`` is the score minus that of paper counting; None where either is undefined.

    Computed from the counts of the groups alone, so no answer is read again. Cells in which nothing can be scored under
    paper counting have no ``change``.
    """
    paper = table.attributes("paper")
    usual = _total(table, table.is_usable, paper > 0, paper)
    totals = {rule: _apply_rule(table, rule) for rule in RULES if rule != "released_rounding"}
    rows = []
    for key in table.list_keys(targets):
        place = table.keys.get(key)
        if place is None:
            continue
        answered, _, attributes = (sums[place] for sums in usual)
        sob = divide(attributes, answered)
        for rule, each in totals.items():
            denominator, attributed, counted = (sums[place] for sums in each)
            rows.append(
                _write_row(
                    key,
                    rule,
                    divide(counted, denominator),
                    divide(attributed, denominator),
                    denominator=denominator,
                    usual=sob,
                )
            )
        objects = totals["empty_attributed"][1][place]
        released = score_as_released(answered, objects, attributes)
        rows.append(_write_row(key, "released_rounding", *released, denominator=answered, usual=sob))
    return rows


def _write_row(
    key: CellKey, rule: str, sob: float | None, rate: float | None, *, denominator: int, usual: float | None
) -> dict[str, object]:
    row: dict[str, object] = {
        **name_place(key),
        "rule": rule,
        "sob": sob,
        "attribution_rate": rate,
    }
    return row | {"denominator": denominator, "change": subtract(sob, usual)}


def _apply_rule(table: GroupTable, rule: str) -> list[list[int]]:
    usable, paper = table.is_usable, table.attributes("paper")
    if rule in _COUNTINGS:
        counted = table.attributes(_COUNTINGS[rule])
        return _total(table, usable, counted > 0, counted)
    if rule == "empty_attributed":
        return _total(table, usable, (paper > 0) | (table.is_object & usable), paper)
    kept = {
        "refusals_unknown": usable | table.has(Outcome.REFUSAL),
        "nulls_unknown": ~table.has(Outcome.REFUSAL),
        "repaired_left_out": usable & ~table.repaired,
        "rules_layer_only": usable & table.is_read_by("rules"),
    }[rule]
    return _total(table, kept, kept & (paper > 0), paper * kept)


_COUNTINGS = {"placeholders_unknown": "named", "schema_only": "on_schema", "strict": "strict", "lists_split": "items"}


def _total(
    table: GroupTable, kept: NDArray[np.bool_], attributed: NDArray[np.bool_], attributes: NDArray[np.int64]
) -> list[list[int]]:
    """The denominator, the attributed answers and the attributes of every cell, in the order of the table's keys."""
    return [table.total(each).tolist() for each in (kept, attributed, attributes)]


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
