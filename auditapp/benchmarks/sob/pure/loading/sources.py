"""Read a file of texts to be judged: the benchmark's prepared table, one of its five sources as published, or csv, JSON lines
and parquet by column mapping.

Texts are kept exactly, line breaks inside quotes included. They may be hateful: no error or warning shows one,
only where it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from auditapp.benchmarks.sob.pure.loading.dataset_texts import (
    DatasetText,
    NumberedText,
    describe_data_warnings,
    describe_unknown_labels,
    list_rows,
)
from auditapp.benchmarks.sob.pure.loading.normalising import (
    SAME_AGAIN,
    Draw,
    Statement,
    TargetLabels,
    draw_sample,
    drop_repeated,
    load_published_targets,
)
from auditapp.benchmarks.sob.pure.loading.opening import OpenedFile, open_file
from auditapp.benchmarks.sob.pure.loading.published_sources import (
    PREPARED_PROVENANCE,
    Provenance,
    PublishedSource,
    draw_as_released,
    filter_rows,
    is_prepared_table,
)
from auditapp.benchmarks.sob.pure.loading.row_files import Row, Table
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import list_headings

__all__ = [
    "FIELDS",
    "PREPARED_FORMAT",
    "DatasetFile",
    "DatasetText",
    "propose_mapping",
    "read_dataset",
    "read_opened",
    "rename_targets",
]

PREPARED_FORMAT = "sob_inputs"
_PREPARED_MAPPING = {
    "source": "source",
    "external_id": "tix",
    "text": "text",
    "target_raw": "target_raw",
    "kind": "type",
    "target": "target",
    "target_secondary": "target_secondary",
    "target_tertiary": "target_tertiary",
}

_REQUIRED = ("text", "target")
FIELDS = (*_REQUIRED, "source", "external_id", "target_secondary", "target_tertiary", "target_raw", "kind")
"""What a column can be mapped to; the first two are required."""

_MAX_LENGTHS = {"target_raw": 300}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_LABEL_LENGTH = 100


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """The rows taken from a file in its order, and what a person should know of them.

    ``targets`` says what named the targets: "file", "published" or "table". ``statement`` says what became of every row.
    """

    format: str
    rows: tuple[DatasetText, ...]
    warnings: tuple[str, ...]
    statement: Statement
    targets: str = "file"
    provenance: Provenance = field(default_factory=Provenance)


def read_dataset(data: bytes, *, name: str, **how: Any) -> DatasetFile:
    """``read_opened`` of a file that is not open yet."""
    return read_opened(open_file(data, file=name), name=name, **how)


def read_opened(
    opened: OpenedFile,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    targets: str = "",
    labels: TargetLabels | None = None,
    all_rows: bool = False,
    drops_repeated: bool = False,
    draw: Draw | None = None,
) -> DatasetFile:
    """Read a whole file or nothing of it.

    ``name`` is the file's name, and the source of texts that name none. ``columns`` maps ``FIELDS`` to the file's
    columns; without it the prepared table and the published sources are known by their header, and any file whose columns
    are named "text" and "target". ``external_id`` is the row's number where no column is mapped to it.

    Of a published source read without ``columns`` the benchmark's rows are taken, unless ``all_rows``; ``draw`` takes the place
    of the benchmark's own draw, its filter stays. ``targets`` is "file", "published" or "table", which needs ``labels``;
    empty, it is "published" for such a source and "file" for any other.
    Raises ReadError for anything that cannot be read, an empty text, and one (source, external_id) twice;
    SampleError for a sample that cannot be drawn.
    """
    table, published = opened
    source = published if columns is None else None
    targets = targets or ("published" if source else "file")
    labels = load_published_targets() if targets == "published" else labels
    named_by = labels if targets != "file" else None
    mapping = propose_mapping(opened) if columns is None else columns
    mapping = _check_mapping(table, mapping, name, needs_target=named_by is None)
    rows, statement, strata = _take_rows(table, None if all_rows else source, name, is_drawn=draw is None)
    numbered = [
        _name_targets(row.number, _read_text(row, mapping, source.key if source else name, name), named_by, strata)
        for row in rows
    ]
    _refuse_repeated_ids(numbered, rows, name)
    prepared = numbered if mapping is _PREPARED_MAPPING else ()
    provenance = _describe_provenance(published, prepared, is_filtered=source is not None and not all_rows)
    warnings: list[str] = []
    if drops_repeated or (source and source.drops_repeated and not all_rows):
        numbered, statement = _drop_repeated(numbered, statement, warnings)
    if draw:
        numbered, statement = _draw(numbered, statement, draw)
    unknown = [row.text.target_raw for row in numbered if row.is_unknown]
    named = "the published table of targets" if targets == "published" else "the study's table of targets"
    return DatasetFile(
        format=source.key if source else PREPARED_FORMAT if mapping is _PREPARED_MAPPING else table.format,
        rows=tuple(row.text for row in numbered),
        warnings=(*describe_data_warnings(numbered), *describe_unknown_labels(unknown, named), *warnings),
        statement=statement,
        targets=targets,
        provenance=provenance,
    )


def propose_mapping(opened: OpenedFile) -> Mapping[str, str]:
    """The mapping of a file known by its header, else of the columns named as our fields."""
    table, source = opened
    if source:
        return {**source.mapping, "target": source.mapping["target_raw"]}
    if set(table.columns) == set(_PREPARED_MAPPING.values()):
        return _PREPARED_MAPPING
    return {name: name for name in FIELDS if name in table.columns}


def _check_mapping(table: Table, mapping: Mapping[str, str], file: str, *, needs_target: bool) -> Mapping[str, str]:
    for name, column in mapping.items():
        if name not in FIELDS:
            found = f'a mapping of "{name}"'
            raise ReadError(file, None, found=found, expected="one of " + ", ".join(FIELDS))
        if column not in table.columns:
            found = f'no column "{column}" for {name}'
            raise ReadError(file, None, found=found, expected=f"one of {list_headings(table.columns)}")
    for name in _REQUIRED:
        if name not in mapping and (name == "text" or needs_target or "target_raw" not in mapping):
            expected = f"a mapping such as {name}=COLUMN, with one of {list_headings(table.columns)}"
            raise ReadError(file, None, found=f"no column for {name}", expected=expected)
    return mapping


def _take_rows(
    table: Table, source: PublishedSource | None, file: str, *, is_drawn: bool
) -> tuple[Sequence[Row], Statement, Mapping[int, str]]:
    """The benchmark's rows of a published source, only filtered unless ``is_drawn``; all rows of anything else.

    With what became of the others, and the stratum of each row by its number.
    """
    if source is None:
        return table.rows, Statement(len(table.rows), len(table.rows)), {}
    rows, dropped = filter_rows(source, table.rows, file=file)
    if not rows:
        raise ReadError(file, None, found=f"no row where {source.provenance.filter}", expected="at least one")
    filtered = Statement(len(table.rows), len(rows), dropped=dropped)
    if not is_drawn:
        return rows, filtered, {}
    drawn, statement, strata = draw_as_released(source.draw, rows)
    return drawn, _follow(filtered, statement), strata


def _follow(first: Statement, second: Statement) -> Statement:
    """One statement of two steps: the second took from what the first had kept."""
    dropped = dict(first.dropped)
    for reason, count in second.dropped.items():
        dropped[reason] = dropped.get(reason, 0) + count
    last = second if second.method else first
    return replace(last, read=first.read, kept=second.kept, dropped=dropped)


def _name_targets(
    number: int, text: DatasetText, labels: TargetLabels | None, strata: Mapping[int, str]
) -> NumberedText:
    stratum = strata.get(number, "")
    if labels is None:
        return NumberedText(number, text, stratum=stratum)
    named = rename_targets(text, labels)
    return NumberedText(number, named, is_unknown=bool(named.target_raw and not named.target), stratum=stratum)


def rename_targets(text: DatasetText, labels: TargetLabels) -> DatasetText:
    """The text with the targets the table has for its source's label; with none for a label it lacks.

    The label is ``target_raw``, or the target where the text has no such label.
    """
    raw = text.target_raw or text.target
    primary, secondary, tertiary = labels.normalise(raw) or ("", "", "")
    return replace(text, target=primary, target_secondary=secondary, target_tertiary=tertiary, target_raw=raw)


def _drop_repeated(
    rows: list[NumberedText], statement: Statement, warnings: list[str]
) -> tuple[list[NumberedText], Statement]:
    kept, repeated = drop_repeated([row.text for row in rows])
    if not repeated:
        return rows, statement
    warnings.append(f"{list_rows([rows[place].number for place in repeated])}: {SAME_AGAIN}; dropped")
    step = Statement(len(rows), len(kept), dropped={SAME_AGAIN: len(repeated)})
    less = Counter(rows[place].stratum for place in repeated)
    strata = {
        stratum: {**counts, "kept": counts["kept"] - less[stratum]} for stratum, counts in statement.strata.items()
    }
    return [rows[place] for place in kept], replace(_follow(statement, step), strata=strata)


def _draw(rows: list[NumberedText], statement: Statement, draw: Draw) -> tuple[list[NumberedText], Statement]:
    kept, drawn = draw_sample([row.text for row in rows], **draw._asdict())
    return [rows[place] for place in kept], _follow(statement, drawn)


def _describe_provenance(
    source: PublishedSource | None, rows: Iterable[NumberedText], *, is_filtered: bool
) -> Provenance:
    if source is None:
        return PREPARED_PROVENANCE if is_prepared_table(row.text for row in rows) else Provenance()
    return source.provenance if is_filtered else source.provenance._replace(filter="")


def _read_text(row: Row, mapping: Mapping[str, str], source: str, file: str) -> DatasetText:
    labels = {name: _read_label(row, name, column, file) for name, column in mapping.items() if name != "text"}
    if not labels.get("source"):
        labels["source"] = source
    if "external_id" not in mapping:
        labels["external_id"] = str(row.number)
    elif not labels["external_id"]:
        raise ReadError(file, line=row.line, found=f"an empty external_id in row {row.number}", expected="an id")
    if labels.setdefault("target", "") == OVERALL:
        found = f'the target "{OVERALL}" in row {row.number}'
        raise ReadError(file, line=row.line, found=found, expected="another name: it stands for all texts")
    text = row.values.get(mapping["text"])
    if not isinstance(text, str) or not text.strip():
        raise ReadError(file, line=row.line, found=f"no text in row {row.number}", expected="a text in every row")
    _refuse_unstorable(text, row, "text", file)
    return DatasetText(text=text, **labels)


def _read_label(row: Row, name: str, column: str, file: str) -> str:
    value = row.values.get(column)
    if isinstance(value, (dict, list, bool)):
        found = f"an object, a list or a truth value as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected="a word or a number")
    label = "" if value is None else str(value).strip()
    max_length = _MAX_LENGTHS.get(name, _MAX_LABEL_LENGTH)
    if len(label) > max_length:
        found = f"{len(label)} characters as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected=f"a label of at most {max_length}")
    _refuse_unstorable(label, row, name, file)
    return label


def _refuse_unstorable(value: str, row: Row, name: str, file: str) -> None:
    if _UNSTORABLE.search(value):
        found = f"a NUL character or half a surrogate pair as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected="characters that UTF-8 can hold")


def _refuse_repeated_ids(texts: Iterable[NumberedText], rows: Iterable[Row], file: str) -> None:
    first: dict[tuple[str, str], Row] = {}
    for numbered, row in zip(texts, rows, strict=True):
        earlier = first.setdefault((numbered.text.source, numbered.text.external_id), row)
        if earlier is not row:
            found = f"the source and external_id of row {earlier.number} again in row {row.number}"
            raise ReadError(file, line=row.line, found=found, expected="each id once in a source")
