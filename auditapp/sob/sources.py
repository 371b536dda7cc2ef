"""Read a file of texts to be judged: the benchmark's prepared table, or csv or JSON lines by column mapping.

Texts are kept exactly, line breaks inside quotes included. They may be hateful: no error or warning shows one,
only where it stands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from auditapp.sob.metrics import OVERALL
from auditapp.sob.row_files import DatasetError, Row, Table, decode_file, read_columns, read_table

__all__ = ["FIELDS", "PREPARED_FORMAT", "DatasetError", "DatasetFile", "DatasetText", "read_dataset"]

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

_LONGEST = {"target_raw": 300}
_LONGEST_LABEL = 100


class _PublishedSource(NamedTuple):
    name: str
    columns: frozenset[str]
    mapping: str


_PUBLISHED_SOURCES = (
    _PublishedSource(
        "the HateCheck test suite",
        frozenset({"functionality", "case_id", "test_case", "target_ident"}),
        "text=test_case, target=target_ident, external_id=case_id, kind=label_gold",
    ),
    _PublishedSource(
        "the annotated ToxiGen test split",
        frozenset({"text", "target_group", "toxicity_human"}),
        "text=text, target=target_group, kind=framing",
    ),
    _PublishedSource(
        "a DynaB table",
        frozenset({"acl.id", "text", "type", "target", "round.base"}),
        "text=text, target=target, external_id=acl.id, kind=type",
    ),
    _PublishedSource(
        "the LingHate table",
        frozenset({"#SENTENCE_FROM_TWEET", "LABEL", "TARGET"}),
        "text=#SENTENCE_FROM_TWEET, target=TARGET, kind=LABEL",
    ),
    _PublishedSource(
        "an iSHate table",
        frozenset({"message_id", "cleaned_text", "implicit_layer", "target"}),
        "text=text, target=target, external_id=message_id, kind=implicit_layer",
    ),
)

_MOST_LISTED = 20
_SPREADSHEET_ERRORS = frozenset({"#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!"})


@dataclass(frozen=True, slots=True)
class DatasetText:
    """One text with the group it targets. Every field but ``text`` is a label; absent ones are empty."""

    source: str
    external_id: str
    text: str
    target: str
    target_secondary: str = ""
    target_tertiary: str = ""
    target_raw: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """All rows of a file in its order, and what a person should know of them."""

    format: str
    rows: tuple[DatasetText, ...]
    warnings: tuple[str, ...]


def read_dataset(data: bytes, *, name: str, columns: Mapping[str, str] | None = None) -> DatasetFile:
    """Read a whole file or nothing of it.

    ``name`` is the file's name, and the source of texts that name none. ``columns`` maps ``FIELDS`` to the file's
    columns; without it the prepared table is known by its header, and any file whose columns are named "text"
    and "target". ``external_id`` is the row's number where no column is mapped to it.
    Raises DatasetError for anything that cannot be read, an empty text, and one (source, external_id) twice.
    """
    content = decode_file(data, file=name)
    if columns is None:
        _refuse_published_source(read_columns(content, file=name), name)
    table = read_table(content, file=name)
    prepared = columns is None and set(table.columns) == set(_PREPARED_MAPPING.values())
    mapping = _PREPARED_MAPPING if prepared else _choose_mapping(table, columns, name)
    rows = tuple(_read_text(row, mapping, name) for row in table.rows)
    _refuse_repeated_ids(rows, table, name)
    return DatasetFile(PREPARED_FORMAT if prepared else table.format, rows, tuple(_warn(rows)))


def _refuse_published_source(columns: Iterable[str], file: str) -> None:
    """Stop at a raw source of the benchmark: its rows are no sample, so that has to be wished for."""
    found = set(columns)
    for published in _PUBLISHED_SOURCES:
        if published.columns <= found:
            raise DatasetError(
                file,
                found=f"{published.name} as published",
                expected=f"a column mapping, for example {published.mapping}; it reads every row, without the "
                "filters and samples of the benchmark",
            )


def _choose_mapping(table: Table, columns: Mapping[str, str] | None, file: str) -> Mapping[str, str]:
    if columns is None:
        columns = {field: field for field in FIELDS if field in table.columns}
    for field, column in columns.items():
        if field not in FIELDS:
            found = f'a mapping of "{field}"'
            raise DatasetError(file, found=found, expected="one of " + ", ".join(FIELDS))
        if column not in table.columns:
            found = f'no column "{column}" for {field}'
            raise DatasetError(file, found=found, expected=f"one of {_list_columns(table)}")
    for field in _REQUIRED:
        if field not in columns:
            expected = f"a mapping such as {field}=COLUMN, with one of {_list_columns(table)}"
            raise DatasetError(file, found=f"no column for {field}", expected=expected)
    return columns


def _list_columns(table: Table) -> str:
    """The columns' names; what is too long for a name may be a text of a file without a header."""
    names = [name for name in table.columns if name and re.fullmatch(r"[\w.#?:/-]{1,40}", name)]
    hidden = len(table.columns) - len(names)
    more = [f"{hidden} whose name is empty or reads like a text"] if hidden else []
    return ", ".join([*names, *more])


def _read_text(row: Row, mapping: Mapping[str, str], file: str) -> DatasetText:
    labels = {field: _read_label(row, field, column, file) for field, column in mapping.items() if field != "text"}
    if not labels.get("source"):
        labels["source"] = file
    if "external_id" not in mapping:
        labels["external_id"] = str(row.number)
    elif not labels["external_id"]:
        raise DatasetError(file, line=row.line, found=f"an empty external_id in row {row.number}", expected="an id")
    if labels["target"] == OVERALL:
        found = f'the target "{OVERALL}" in row {row.number}'
        raise DatasetError(file, line=row.line, found=found, expected="another name: it stands for all texts")
    text = row.values.get(mapping["text"])
    if not isinstance(text, str) or not text.strip():
        raise DatasetError(file, line=row.line, found=f"no text in row {row.number}", expected="a text in every row")
    _refuse_unstorable(text, row, "text", file)
    return DatasetText(text=text, **labels)


def _read_label(row: Row, field: str, column: str, file: str) -> str:
    value = row.values.get(column)
    if isinstance(value, (dict, list, bool)):
        found = f"an object, a list or a truth value as {field} in row {row.number}"
        raise DatasetError(file, line=row.line, found=found, expected="a word or a number")
    label = "" if value is None else str(value).strip()
    longest = _LONGEST.get(field, _LONGEST_LABEL)
    if len(label) > longest:
        found = f"{len(label)} characters as {field} in row {row.number}"
        raise DatasetError(file, line=row.line, found=found, expected=f"a label of at most {longest}")
    _refuse_unstorable(label, row, field, file)
    return label


def _refuse_unstorable(value: str, row: Row, field: str, file: str) -> None:
    if re.search("[\x00\ud800-\udfff]", value):
        found = f"a NUL character or half a surrogate pair as {field} in row {row.number}"
        raise DatasetError(file, line=row.line, found=found, expected="characters that UTF-8 can hold")


def _refuse_repeated_ids(rows: Iterable[DatasetText], table: Table, file: str) -> None:
    first: dict[tuple[str, str], Row] = {}
    for text, row in zip(rows, table.rows, strict=True):
        earlier = first.setdefault((text.source, text.external_id), row)
        if earlier is not row:
            found = f"the source and external_id of row {earlier.number} again in row {row.number}"
            raise DatasetError(file, line=row.line, found=found, expected="each id once in a source")


def _warn(rows: Iterable[DatasetText]) -> list[str]:
    """What is odd about the rows; nothing of it is dropped or changed."""
    odd: dict[str, list[int]] = defaultdict(list)
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, row in enumerate(rows, start=1):
        places[row.text].append((number, row.source))
        if row.text.strip() in _SPREADSHEET_ERRORS:
            odd["the text is a spreadsheet's error mark such as #NAME?; the original is lost"].append(number)
        if "�" in row.text:
            odd["the text holds a replacement character; its encoding was damaged earlier"].append(number)
        if "\r" in row.text:
            odd["the text holds a carriage return, which is kept"].append(number)
        if not row.target:
            odd["no target; the text counts in overall alone"].append(number)
    repeated = [found for found in places.values() if len(found) > 1]
    warnings = [f"{_list_rows(numbers)}: {what}" for what, numbers in odd.items()]
    for found in repeated[:_MOST_LISTED]:
        one_source = len({source for _, source in found}) < len(found)
        where = "more than once in one source" if one_source else "in more than one source"
        warnings.append(f"{_list_rows([number for number, _ in found])}: the same text {where}")
    if len(repeated) > _MOST_LISTED:
        warnings.append(f"{len(repeated) - _MOST_LISTED} more texts stand in more than one row")
    return warnings


def _list_rows(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    shown = ", ".join(map(str, numbers[:_MOST_LISTED]))
    return f"rows {shown}" + (f" and {len(numbers) - _MOST_LISTED} more" if len(numbers) > _MOST_LISTED else "")
