"""How often what a model attributes is the target itself, or the group that dominates it (method brief R44).

Table 13 of the paper prints two of four cells, its prose the other two; here all four are side by side:
{acceptability, non-acceptability} x {self, dominant}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parents[2] / "data" / "published_mapping.json"

PUBLISHED = "published"


class Kind(StrEnum):
    """Whom a value stands for, from the point of view of the text's target."""

    SELF = "self"
    DOMINANT = "dominant"


class Rule(StrEnum):
    """When an answer maps: any value of the list is attributed (the paper's), or every value of it."""

    ANY = "any"
    ALL = "all"


class MappingError(ValueError):
    """What is wrong with a mapping, as a sentence."""


@dataclass(frozen=True)
class TargetMapping:
    """The values that map, per target, in lower case; ``name`` is "published" or "table N"."""

    rows: Mapping[str, Mapping[Kind, frozenset[str]]]
    name: str = PUBLISHED

    def list_values(self, target: str, kind: Kind) -> frozenset[str]:
        """The values of one list; none where the target is not in the mapping."""
        return self.rows.get(name_value(target), _NO_LISTS)[kind]


_NO_LISTS: Mapping[Kind, frozenset[str]] = {Kind.SELF: frozenset(), Kind.DOMINANT: frozenset()}

Rows = Mapping[str, Mapping[str, Sequence[str]]]
"""A mapping as people write it and as it is stored: {target: {"self": [value, …], "dominant": [value, …]}}."""


def name_value(value: str) -> str:
    """What values and targets are compared by: exact, but for case and outer blanks."""
    return value.strip().lower()


def read_mapping(rows: Rows, name: str) -> TargetMapping:
    """A mapping from its rows. Raises ``MappingError``."""
    check_rows(rows)
    return TargetMapping(
        {
            name_value(target): {kind: frozenset(map(name_value, lists.get(kind, ()))) for kind in Kind}
            for target, lists in rows.items()
        },
        name,
    )


def check_rows(rows: Rows) -> None:
    """Raise ``MappingError`` for a mapping that would count an answer on both sides, or nothing at all."""
    if not rows:
        raise MappingError("A mapping needs at least one target.")
    names: dict[str, str] = {}
    for target, lists in rows.items():
        if not name_value(target):
            raise MappingError("A row of the mapping has no target. Name it, or remove the row.")
        other = names.setdefault(name_value(target), target)
        if other != target:
            raise MappingError(f"{target} and {other} are one target: keep one of the two rows.")
        if unknown := sorted(set(lists) - set(Kind)):
            raise MappingError(f"{target} has a list {unknown[0]}: a row has the lists self and dominant.")
        dominant = set(map(name_value, lists.get(Kind.DOMINANT, ())))
        for value in lists.get(Kind.SELF, ()):
            if name_value(value) in dominant:
                raise MappingError(
                    f"{target}: {value} is in both lists (case is ignored). A value represents either the target itself or the "
                    "dominant group. Remove it from one list."
                )


def compare_rows(before: Rows, after: Rows) -> list[dict[str, object]]:
    """What came into each list of each target and what went out, as written; nothing where two mappings count alike."""
    spelled = {name_value(target): target for target in (*before, *after)}
    found: list[dict[str, object]] = []
    for name, target in spelled.items():
        for kind in Kind:
            old, new = (_spell_values(rows, name, kind) for rows in (before, after))
            put_in = [value for key, value in new.items() if key not in old]
            taken_out = [value for key, value in old.items() if key not in new]
            if put_in or taken_out:
                found.append({"target": target, "kind": kind, "put_in": put_in, "taken_out": taken_out})
    return found


def list_new_targets(before: Rows, after: Rows) -> list[str]:
    """The targets that only the second mapping names."""
    known = set(map(name_value, before))
    return [target for target in after if name_value(target) not in known]


def _spell_values(rows: Rows, name: str, kind: Kind) -> dict[str, str]:
    return {
        name_value(value): value
        for target, lists in rows.items()
        if name_value(target) == name
        for value in lists.get(kind, ())
    }


def order_rows(rows: Rows) -> Rows:
    """The same rows in the order of Table 12, other targets after them: a database keeps no order of its own."""
    order = {name_value(target): rank for rank, target in enumerate(published_rows())}
    names = sorted(rows, key=lambda target: (order.get(name_value(target), len(order)), target))
    return {target: rows[target] for target in names}


def list_empty(rows: Rows) -> list[tuple[str, Kind]]:
    """The lists without a value: nothing can map to them."""
    return [(target, kind) for target, lists in rows.items() for kind in Kind if not lists.get(kind)]


@cache
def published_rows() -> Rows:
    """Table 12 under the names that the texts' targets have, spelled as printed."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return {row["target"]: {"self": row["self"], "dominant": row["dominant"]} for row in content["rows"]}


@cache
def name_mapping_source() -> str:
    """The source of Table 12, to be printed beside it."""
    return str(json.loads(_FILE.read_text(encoding="utf-8"))["source"])


@cache
def published_mapping() -> TargetMapping:
    """The mapping the software is shipped with: Table 12."""
    return read_mapping(published_rows(), PUBLISHED)


@cache
def published_shares() -> Mapping[tuple[str, str, str], Mapping[str, float]]:
    """Table 13 by target, task and kind, as printed: attributed answers, and the per cent of them that map.

    Two of the four cells, over the twelve models.
    """
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return {(row["target"], row["task"], row["kind"]): {"n": row["n"], "pct": row["pct"]} for row in content["counted"]}
