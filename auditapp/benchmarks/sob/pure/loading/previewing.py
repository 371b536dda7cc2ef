"""Look into a file before it is loaded: what it is and which columns it has.

The texts may be hateful. A preview holds none of them, only how long they are; of other columns it shows what looks like a label.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from auditapp.benchmarks.sob.pure.loading.dataset_texts import DatasetText
from auditapp.benchmarks.sob.pure.loading.normalising import SampleError
from auditapp.benchmarks.sob.pure.loading.opening import OpenedFile, open_file
from auditapp.benchmarks.sob.pure.loading.published_sources import Provenance, PublishedSource
from auditapp.benchmarks.sob.pure.loading.row_files import Table
from auditapp.benchmarks.sob.pure.loading.sources import FIELDS, propose_mapping, read_dataset, read_opened
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import is_heading

_MAX_LABEL_LENGTH = 60
_MAX_WORDS = 5
_MAX_LABELS = 100
_EXAMPLES = 3
_SHOWN_ROWS = 5
_USUAL_NAMES = {
    "text": ("text", "sentence", "comment", "content", "post", "tweet", "message", "prompt"),
    "target": ("target", "target_group", "group", "identity", "demographic"),
    "external_id": ("external_id", "id", "tix", "uid"),
    "target_raw": ("target_raw",),
    "kind": ("kind", "type", "label"),
}

Column = tuple[str, str, tuple[str, ...]]
"""The name of a column; its name on the page, which is its place where the name may be a text; and the commonest
values of a column of labels."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file is, without its content.

    ``source`` is one of the benchmark's five, if it is recognised. ``mapping`` is the proposed one, from our fields to the
    file's columns. ``provenance`` is what is known of the texts' origin.
    """

    name: str
    sha256: str
    format: str
    source: PublishedSource | None
    n_rows: int
    columns: tuple[Column, ...]
    mapping: Mapping[str, str]
    provenance: Provenance


def preview_file(data: bytes, name: str) -> Preview:
    """Read the file and write nothing. Raises ReadError for a file that cannot be opened; its rows are not checked yet."""
    opened = open_file(data, file=name)
    table, source = opened
    mapping = _propose(opened)
    try:
        is_known = dict(mapping) == dict(propose_mapping(opened))
        content = read_opened(opened, name=name, columns=None if is_known else mapping)
        file_format, provenance = content.format, content.provenance
    except (ReadError, SampleError):
        file_format, provenance = table.format, source.provenance if source else Provenance()
    return Preview(
        name=name,
        sha256=hashlib.sha256(data).hexdigest(),
        format=file_format,
        source=source,
        n_rows=len(table.rows),
        columns=tuple(_describe_column(table, place, mapping.get("text")) for place in range(len(table.columns))),
        mapping=mapping,
        provenance=provenance,
    )


class Plan(NamedTuple):
    """What would come in of a file that is read in a certain way: texts by target and source, and the first of them."""

    warnings: tuple[str, ...]
    sampling: dict[str, object]
    counts: Counter[tuple[str, str]]
    shown: tuple[DatasetText, ...]


def plan_file(data: bytes, name: str, **how: Any) -> Plan:
    """Read the file by ``how`` (see ``read_opened``) and keep nothing. Raises ReadError and SampleError."""
    file = read_dataset(data, name=name, **how)
    counts = Counter((row.target, row.source) for row in file.rows)
    return Plan(file.warnings, file.statement.write(), counts, file.rows[:_SHOWN_ROWS])


def _propose(opened: OpenedFile) -> Mapping[str, str]:
    """The known mapping; for other files columns of usual names, each for one field."""
    known = propose_mapping(opened)
    table, source = opened
    if source or {"text", "target"} <= set(known):
        return known
    by_name = {name.casefold(): name for name in reversed(table.columns)}
    proposed = dict(known)
    for field in FIELDS:
        for usual in _USUAL_NAMES.get(field, (field,)):
            column = by_name.get(usual)
            if field not in proposed and column is not None and column not in proposed.values():
                proposed[field] = column
    return proposed


def _describe_column(table: Table, place: int, text_column: str | None) -> Column:
    name = table.columns[place]
    shown = name if is_heading(name) else f"column {place + 1}"
    return name, shown, () if name == text_column else _find_labels(table, name)


def _find_labels(table: Table, column: str) -> tuple[str, ...]:
    """The commonest values of a column of labels; none where its values may be texts, or are all different."""
    values = Counter[str]()
    for row in table.rows:
        value = row.values.get(column)
        written = "" if value is None else str(value).strip()
        values[written] += 1
        # A sentence of the benchmark has more words than a label.
        is_text = len(written) > _MAX_LABEL_LENGTH or len(written.split()) > _MAX_WORDS
        if len(values) > _MAX_LABELS + 1 or is_text:
            return ()
    filled = len(table.rows) - values.pop("", 0)
    if len(values) > _MAX_LABELS or len(values) >= max(filled, 2):
        return ()
    return tuple(sorted(values, key=lambda value: (-values[value], value))[:_EXAMPLES])
