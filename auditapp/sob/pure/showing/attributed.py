"""Attributed values on pages: the social map as a shaded matrix, the four cells of the mapping side by side."""

from __future__ import annotations

from typing import Any

from auditapp.sob.pure.measures.attributions import MAX_VALUE_LENGTH
from auditapp.sob.pure.measures.mapping import (
    PUBLISHED,
    Kind,
    Rule,
    TargetMapping,
    name_value,
    published_shares,
)
from auditapp.sob.pure.showing.figures import TASKS, Entry, Figures

STEPS = 20


def draw_map(entry: Entry, mapping: TargetMapping) -> dict[str, Any]:
    """One entry of the report's "social_map", ready to be shown; shades run from 0 to ``highest``, in per cent.

    A cell's ``kind`` says what the value maps to; one that ``can_open`` has answers that an address can name.
    """
    shares = [
        [100 * count / denominator if denominator else None for count in counts]
        for denominator, counts in zip(entry["denominators"], entry["counts"], strict=True)
    ]
    highest = max((share for row in shares for share in row if share is not None), default=0.0)
    rows = []
    for index, target in enumerate(entry["targets"]):
        kinds = [_find_kind(mapping, target, value) for value in entry["values"]]
        cells = [
            {
                "value": value,
                "answers": count,
                "pct": share,
                "step": _shade(share, highest),
                "kind": kind,
                "can_open": count > 0 and len(value) <= MAX_VALUE_LENGTH,
            }
            for value, count, share, kind in zip(
                entry["values"], entry["counts"][index], shares[index], kinds, strict=True
            )
        ]
        rows.append({"target": target, "denominator": entry["denominators"][index], "cells": cells})
    return {"values": list(entry["values"]), "rows": rows, "highest": highest, "steps": range(STEPS + 1)}


def _find_kind(mapping: TargetMapping, target: str, value: str) -> Kind | None:
    return next((kind for kind in Kind if name_value(value) in mapping.list_values(target, kind)), None)


def _shade(share: float | None, highest: float) -> int:
    return round(STEPS * share / highest) if share and highest else 0


CELLS = [(task, kind) for task in TASKS for kind in Kind]
"""The four cells: {acceptability, non-acceptability} x {self, dominant}."""


def list_mapped(figures: Figures, model: str | None, rule: Rule) -> list[dict[str, Any]]:
    """The mapping of one model (``None``: all together), by one rule, in the order of the report; cells as in ``CELLS``.

    Table 13 stands beside what it can be compared with: all models together, by any value of the published mapping.
    """
    is_comparable = figures.report["versions"].get("mapping") == PUBLISHED and model is None and rule is Rule.ANY
    published = published_shares() if is_comparable else {}
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in figures.find("mapping" if rule is Rule.ANY else "mapping_all", model=model):
        found.setdefault(entry["target"], {})[entry["task"], entry["kind"]] = entry
    return [
        {
            "target": target,
            "cells": [
                {
                    "entry": cells.get((task, str(kind))),
                    "published": published.get((name_value(target), task, str(kind))),
                }
                for task, kind in CELLS
            ],
        }
        for target, cells in found.items()
    ]
