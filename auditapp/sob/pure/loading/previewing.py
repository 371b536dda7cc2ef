"""Look into a file before it is loaded: what it is, which columns it has, and what its rows would become.

The texts may be hateful. A preview holds none of them, only how long they are; of other columns it shows what looks like a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from auditapp.sob.pure.loading.drawing import SampleError, Statement
from auditapp.sob.pure.loading.opening import OpenedFile, open_file
from auditapp.sob.pure.loading.published_sources import Provenance, PublishedSource
from auditapp.sob.pure.loading.row_files import DatasetError, Table
from auditapp.sob.pure.loading.sources import FIELDS, is_column_name, propose_mapping, read_opened

FIRST_ROWS = 5
_MAX_LABEL_LENGTH = 60
_MAX_WORDS = 5
_MAX_LABELS = 100
_EXAMPLES = 3
_USUAL_NAMES = {
    "text": ("text", "sentence", "comment", "content", "post", "tweet", "message", "prompt"),
    "target": ("target", "target_group", "group", "identity", "demographic"),
    "external_id": ("external_id", "id", "tix", "uid"),
    "target_raw": ("target_raw",),
    "kind": ("kind", "type", "label"),
}


class Column(NamedTuple):
    """``shown`` is the name, or its place where the name may be a text; ``examples`` the commonest values of a column of labels."""

    name: str
    shown: str
    filled: int
    distinct: int
    longest: int
    examples: tuple[str, ...]


class PreviewRow(NamedTuple):
    """One of the first rows: how long its text is (``None`` where no column is proposed for it), and its labels by field."""

    number: int
    text_length: int | None
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file is and would become.

    ``source`` is one of the benchmark's five, if it is recognised. ``mapping`` is the proposed or given one, from our fields to
    the file's columns. ``statement`` is what would become of its rows without further wishes, and ``problem`` why it would not
    load; one of them is ``None``. ``provenance`` is what is known of the texts' origin.
    """

    format: str
    source: PublishedSource | None
    n_rows: int
    columns: tuple[Column, ...]
    rows: tuple[PreviewRow, ...]
    mapping: Mapping[str, str]
    warnings: tuple[str, ...]
    statement: Statement | None
    problem: str | None
    provenance: Provenance


def preview_file(data: bytes, name: str, columns: Mapping[str, str] | None = None) -> Preview:
    """Read the file and write nothing. ``columns`` is the mapping as chosen so far.

    Raises DatasetError for a file that cannot be opened; what is wrong with its rows is the preview's ``problem``.
    """
    opened = open_file(data, file=name)
    proposed = columns if columns is not None else _propose(opened)
    is_known = columns is None and dict(proposed) == dict(propose_mapping(opened))
    content = None
    problem = None
    try:
        content = read_opened(opened, name=name, columns=None if is_known else proposed)
    except (DatasetError, SampleError) as error:
        problem = str(error)
    table = opened.table
    return Preview(
        format=content.format if content else table.format,
        source=opened.source,
        n_rows=len(table.rows),
        columns=tuple(_describe_column(table, place, proposed.get("text")) for place in range(len(table.columns))),
        rows=_show_rows(table, proposed),
        mapping=proposed,
        warnings=content.warnings if content else (),
        statement=content.statement if content else None,
        problem=problem,
        provenance=content.provenance if content else opened.source.provenance if opened.source else Provenance(),
    )


def _propose(opened: OpenedFile) -> Mapping[str, str]:
    """The known mapping; for other files columns of usual names, each for one field."""
    known = propose_mapping(opened)
    if opened.source or {"text", "target"} <= set(known):
        return known
    by_name = {name.casefold(): name for name in reversed(opened.table.columns)}
    proposed = dict(known)
    for field in FIELDS:
        for usual in _USUAL_NAMES.get(field, (field,)):
            column = by_name.get(usual)
            if field not in proposed and column is not None and column not in proposed.values():
                proposed[field] = column
    return proposed


def _describe_column(table: Table, place: int, text_column: str | None) -> Column:
    name = table.columns[place]
    values = Counter("" if (value := row.values.get(name)) is None else str(value).strip() for row in table.rows)
    filled = len(table.rows) - values.pop("", 0)
    longest = max(map(len, values), default=0)
    is_shown = name != text_column and len(values) <= _MAX_LABELS and len(values) < max(filled, 2)
    is_shown = is_shown and all(map(_reads_like_label, values))
    examples = sorted(values, key=lambda value: (-values[value], value))[:_EXAMPLES] if is_shown else []
    shown = name if is_column_name(name) else f"column {place + 1}"
    return Column(name, shown, filled, len(values), longest, tuple(examples))


def _show_rows(table: Table, mapping: Mapping[str, str]) -> tuple[PreviewRow, ...]:
    return tuple(
        PreviewRow(
            row.number,
            len(str(row.values.get(mapping["text"]) or "")) if "text" in mapping else None,
            {field: _show_label(row.values.get(column)) for field, column in mapping.items() if field != "text"},
        )
        for row in table.rows[:FIRST_ROWS]
    )


def _show_label(value: object) -> str:
    label = "" if value is None else str(value).strip()
    return label if _reads_like_label(label) else f"{len(label)} characters"


def _reads_like_label(value: str) -> bool:
    """Whether it is too short to be a text; a sentence of the benchmark has more words."""
    return len(value) <= _MAX_LABEL_LENGTH and len(value.split()) <= _MAX_WORDS
