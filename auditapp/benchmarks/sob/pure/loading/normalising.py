"""From a source's label of the group a text targets to the normalised target (method brief R46)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from auditapp.benchmarks.sob.pure.metrics import OVERALL

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "published_targets.json"
MAX_RAW_LENGTH = 300
MAX_TARGET_LENGTH = 100
MAX_ROWS = 5_000
TARGET_FIELDS = ("raw", "target", "secondary", "tertiary")
"""Of a row of a table, as typed: the source's label and what it means."""

_AROUND = re.compile(r"""^[\s'"‘’“”\[\](),]+|[\s'"‘’“”\[\](),]+$""")
_BETWEEN = re.compile(r"""['"‘’“”\s]*,['"‘’“”\s]*""")


class TargetsError(ValueError):
    """A sentence: what is wrong with a table of targets, and in which row."""


class TargetLabels:
    """A table of targets, asked by a source's label.

    Case, white space, and quotes or brackets around a label or its parts make no difference, for the sources write one label
    as ``bla, wom``, ``'bla, wom'`` or ``['bla', 'wom']``. The order of the parts does: the first names the primary target.
    """

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        """``rows`` hold ``TARGET_FIELDS``, as ``make_row`` gives them and ``TargetTable.rows`` stores them.

        Raises TargetsError for an empty label, one label twice, and a target that stands for all texts.
        """
        self.rows = list(rows)
        self._by_label = _index_rows(self.rows)

    def normalise(self, raw: str) -> tuple[str, str, str] | None:
        """The primary, secondary and tertiary target of a source's label; ``None`` for one that is not in the table."""
        return self._by_label.get(simplify_label(raw))

    def hash(self) -> str:
        """SHA-256 of the rows as canonical JSON."""
        canonical = json.dumps(self.rows, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def simplify_label(raw: str) -> str:
    """A label as it is compared: lower case, one space, no quotes or brackets around it or its parts."""
    bare = _AROUND.sub("", raw)
    return " ".join(_BETWEEN.sub(", ", bare).casefold().split())


def make_labels(rows: Iterable[Mapping[str, object]]) -> TargetLabels:
    """A table from its stored rows. Raises TargetsError."""
    return TargetLabels(make_row(number, row) for number, row in enumerate(rows, start=1))


def make_row(number: int, row: Mapping[str, object]) -> dict[str, str]:
    """One row; white space around its fields is dropped. Raises TargetsError, which names it by ``number``."""
    fields = {name: row.get(name) or "" for name in TARGET_FIELDS}
    if not all(isinstance(value, str) for value in fields.values()):
        raise TargetsError(f"Row {number} holds something that is no text. Write words in every field.")
    return {name: str(value).strip() for name, value in fields.items()}


@cache
def load_published_targets() -> TargetLabels:
    """The table released with the paper."""
    return make_labels(json.loads(PUBLISHED.read_text(encoding="utf-8"))["rows"])


def _index_rows(rows: Sequence[dict[str, str]]) -> dict[str, tuple[str, str, str]]:
    if not rows:
        raise TargetsError("A table of targets needs at least one row.")
    if len(rows) > MAX_ROWS:
        raise TargetsError(f"A table of targets holds at most {MAX_ROWS:,} rows; this one has {len(rows):,}.")
    first: dict[str, int] = {}
    by_label: dict[str, tuple[str, str, str]] = {}
    for number, row in enumerate(rows, start=1):
        _check_row(number, row)
        label = simplify_label(row["raw"])
        if not label:
            raise TargetsError(f"Row {number} has no source label. Fill in “raw”, or remove the row.")
        if label in first:
            raise TargetsError(
                f"Row {number} has the source label of row {first[label]} (case, quotes and brackets aside). Keep one of them."
            )
        first[label] = number
        by_label[label] = (row["target"], row["secondary"], row["tertiary"])
    return by_label


def _check_row(number: int, row: dict[str, str]) -> None:
    raw, *targets = (row[name] for name in TARGET_FIELDS)
    if not row["target"]:
        raise TargetsError(
            f"Row {number} has no target. Fill in “target”, or remove the row: unknown labels have none."
        )
    if row["tertiary"] and not row["secondary"]:
        raise TargetsError(f"Row {number} has a tertiary target but no secondary one. Move it up.")
    named = [target for target in targets if target]
    if any(target.casefold() == OVERALL for target in named):
        raise TargetsError(
            f"Row {number} names the target “{OVERALL}”, which stands for all texts. Choose another name."
        )
    if len(set(named)) < len(named):
        raise TargetsError(f"Row {number} names one target twice. Name each once.")
    if len(raw) > MAX_RAW_LENGTH or any(len(target) > MAX_TARGET_LENGTH for target in named):
        raise TargetsError(
            f"Row {number} is too long. A source label has up to {MAX_RAW_LENGTH} characters, a target up to {MAX_TARGET_LENGTH}."
        )
    if any(re.search("[\x00-\x1f\x7f\ud800-\udfff]", value) for value in (raw, *targets)):
        raise TargetsError(f"Row {number} holds a line break or a control character. Remove it.")
