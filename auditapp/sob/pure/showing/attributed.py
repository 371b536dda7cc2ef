"""Attributed values on pages: the social map as a shaded matrix, the four cells of the mapping side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from auditapp.sob.pure.measures.attributions import LONGEST_VALUE
from auditapp.sob.pure.measures.mapping import (
    PUBLISHED,
    Kind,
    PublishedShare,
    Rule,
    TargetMapping,
    name_value,
    published_shares,
)
from auditapp.sob.pure.showing.figures import TASKS, Entry, Figures

STEPS = 20


class MapCell(NamedTuple):
    """How often one value is attributed to texts of one target. ``kind`` says what the value maps to there."""

    value: str
    answers: int
    pct: float | None
    step: int
    kind: Kind | None

    @property
    def can_open(self) -> bool:
        """Whether there are answers behind it that an address can name."""
        return self.answers > 0 and len(self.value) <= LONGEST_VALUE


class MapRow(NamedTuple):
    target: str
    denominator: int
    cells: list[MapCell]


class DrawnMap(NamedTuple):
    """A social map; shades run from 0 to ``highest``, in per cent."""

    values: list[str]
    rows: list[MapRow]
    highest: float
    steps: range


def draw_map(entry: Entry, mapping: TargetMapping) -> DrawnMap:
    """One entry of the report's "social_map", ready to be shown."""
    shares = [
        [100 * count / denominator if denominator else None for count in counts]
        for denominator, counts in zip(entry["denominators"], entry["counts"], strict=True)
    ]
    highest = max((share for row in shares for share in row if share is not None), default=0.0)
    rows = []
    for index, target in enumerate(entry["targets"]):
        kinds = [_find_kind(mapping, target, value) for value in entry["values"]]
        cells = [
            MapCell(value, count, share, _shade(share, highest), kind)
            for value, count, share, kind in zip(
                entry["values"], entry["counts"][index], shares[index], kinds, strict=True
            )
        ]
        rows.append(MapRow(target, entry["denominators"][index], cells))
    return DrawnMap(list(entry["values"]), rows, highest, range(STEPS + 1))


def _find_kind(mapping: TargetMapping, target: str, value: str) -> Kind | None:
    return next((kind for kind in Kind if name_value(value) in mapping.list_values(target, kind)), None)


def _shade(share: float | None, highest: float) -> int:
    return round(STEPS * share / highest) if share and highest else 0


class MappedCell(NamedTuple):
    """One figure of the report beside the published one, each ``None`` where there is none; ``ci`` in per cent."""

    entry: Entry | None
    ci: list[float] | None
    published: PublishedShare | None


class MappedRow(NamedTuple):
    """One target with its cells in the order of ``CELLS``."""

    target: str
    cells: list[MappedCell]


CELLS = [(task, kind) for task in TASKS for kind in Kind]
"""The four cells: {acceptability, non-acceptability} x {self, dominant}."""


def list_mapped(figures: Figures, model: str | None, rule: Rule) -> list[MappedRow]:
    """The mapping of one model (``None``: all together), by one rule, in the order of the report.

    Table 13 stands beside what it can be compared with: all models together, by any value of the published mapping.
    """
    is_comparable = figures.report["versions"].get("mapping") == PUBLISHED and model is None and rule is Rule.ANY
    published = published_shares() if is_comparable else {}
    found: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in figures.find("mapping" if rule is Rule.ANY else "mapping_all", model=model):
        found.setdefault(entry["target"], {})[entry["task"], entry["kind"]] = entry
    return [
        MappedRow(
            target,
            [
                _draw_cell(cells.get((task, str(kind))), published.get((name_value(target), task, str(kind))))
                for task, kind in CELLS
            ],
        )
        for target, cells in found.items()
    ]


def _draw_cell(entry: Entry | None, published: PublishedShare | None) -> MappedCell:
    interval = entry["ci"] if entry else None
    return MappedCell(entry, None if interval is None else [100 * bound for bound in interval], published)


class ValuesRow(NamedTuple):
    target: str
    denominator: int
    values: Sequence[Entry]


def list_values(figures: Figures, model: str | None, task: str, k: int) -> list[ValuesRow]:
    """The commonest values per target of one task and model (``None``: all together)."""
    return [
        ValuesRow(entry["target"], entry["denominator"], entry["values"][:k])
        for entry in figures.find("top_values", model=model, task=task)
    ]
