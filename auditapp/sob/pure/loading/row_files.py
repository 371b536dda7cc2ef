"""Read the bytes of a csv or JSON-lines file into rows, strictly.

Nothing of a row's content ever enters an error: the texts may be hateful.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass

from transcripts.formats.csv_input import CsvError, CsvReader, find_delimiter, read_csv

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_ROWS = 500_000
MAX_COLUMNS = 1_000
_PACKED = {
    b"PAR1": "a parquet file",
    b"\x1f\x8b": "a gzip file in a gzip file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
}


class DatasetError(ValueError):
    """A file of texts cannot be read. Says where, what was found and what was expected."""

    def __init__(self, file: str, *, found: str, expected: str, line: int | None = None) -> None:
        where = file if line is None else f"{file}, line {line}"
        super().__init__(f"{where}: found {found}; expected {expected}")
        self.file = file
        self.line = line
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number from 1 (the header not counted), the line it begins on, and its values by column."""

    number: int
    line: int
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """``format`` is "csv", "jsonl" or "parquet"; ``columns`` are the header's, or the keys of all objects as first met."""

    format: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def decode_file(data: bytes, *, file: str) -> str:
    """The file's text; a byte order mark is dropped. Raises DatasetError for anything but plain UTF-8 text."""
    for start, kind in _PACKED.items():
        if data.startswith(start):
            raise DatasetError(file, found=kind, expected="plain csv or JSON lines; unpack or export it first")
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"the byte 0x{data[error.start]:02x}, which is no UTF-8"
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(file, line=line, found=found, expected="UTF-8 throughout") from None
    if not text.strip():
        raise DatasetError(file, found="an empty file", expected="csv with a header, or JSON lines")
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise DatasetError(file, line=line, found="a NUL character", expected="text without it")
    return text


def read_columns(text: str, *, file: str) -> tuple[str, ...]:
    """The columns of the header, or the keys of the first object, without reading on. Raises DatasetError."""
    if _is_json(text):
        first_line_ends = text.find("\n", len(text) - len(text.lstrip()))
        return _read_json_lines(text if first_line_ends < 0 else text[:first_line_ends], file).columns
    try:
        return tuple(name.strip() for name in next(_open_csv(text.lstrip("\r\n"))))
    except CsvError as error:
        raise _explain(error, file, 1) from None


def read_table(text: str, *, file: str, has_literal_quotes: bool = False) -> Table:
    """Read csv (separated by comma, tab or semicolon, with a header) or JSON lines; which, by its start.

    Lines end at a line feed; carriage returns and line feeds inside quotes are kept. Blank lines hold no row. With
    ``has_literal_quotes`` a quote that does not enclose a field is part of it; else it is broken csv.
    Raises DatasetError.
    """
    table = _read_json_lines(text, file) if _is_json(text) else _read_csv(text, file, is_strict=not has_literal_quotes)
    if not table.rows:
        raise DatasetError(file, found="no rows", expected="at least one row after the header")
    return table


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in {"{", "["}


def _open_csv(text: str, *, is_strict: bool = True) -> CsvReader:
    delimiter = find_delimiter(text.lstrip("\r\n"))
    return read_csv(_list_lines(text), delimiter=delimiter, strict=is_strict)


def _list_lines(text: str) -> Iterator[str]:
    """The lines of a text with their line feeds. A StringIO would take four bytes for each character."""
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _read_csv(text: str, file: str, *, is_strict: bool) -> Table:
    reader = _open_csv(text, is_strict=is_strict)
    header: list[str] = []
    rows: list[Row] = []
    line = 1
    try:
        for values in reader:
            if values and not header:
                header = [name.strip() for name in values]
                _refuse_too_many(rows, header, file)
                named = [name for name in header if name]
                if len(set(named)) < len(named):
                    found, expected = "two columns of one name", "each name once"
                    raise DatasetError(file, line=line, found=found, expected=expected)
            elif values:
                if len(values) != len(header):
                    raise _refuse_width(values, header, file, line)
                rows.append(Row(len(rows) + 1, line, dict(zip(header, values, strict=True))))
                _refuse_too_many(rows, header, file)
            line = reader.line_num + 1
    except CsvError as error:
        raise _explain(error, file, line) from None
    return Table("csv", tuple(header), tuple(rows))


def _refuse_width(values: Sized, header: Sized, file: str, line: int) -> DatasetError:
    if len(header) == 1:
        found = f"no table: {len(values)} fields after a first line of one field"
        expected = "csv whose first line names the columns, separated by comma, tab or semicolon; or JSON lines"
        return DatasetError(file, line=line, found=found, expected=expected)
    return DatasetError(file, line=line, found=f"{len(values)} field(s)", expected=f"{len(header)}, as in the header")


def _refuse_too_many(rows: Sized, columns: Sized, file: str) -> None:
    """A file that packs small may unpack to any number of rows."""
    if len(rows) > MAX_ROWS or len(columns) > MAX_COLUMNS:
        found = f"more than {MAX_ROWS:,} rows" if len(rows) > MAX_ROWS else f"more than {MAX_COLUMNS:,} columns"
        raise DatasetError(file, found=found, expected="fewer; split the table, or remove what is not needed")


def _explain(error: CsvError, file: str, line: int) -> DatasetError:
    stray = "new-line character" in str(error)
    found = "a carriage return outside quotes" if stray else f"broken csv ({error})"
    expected = "rows that end with a line feed, line breaks and quotes inside a field quoted"
    return DatasetError(file, line=line, found=found, expected=expected)


def _read_json_lines(text: str, file: str) -> Table:
    columns: dict[str, None] = {}
    rows: list[Row] = []
    for line, source in enumerate(text.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            values = json.loads(source)
        except json.JSONDecodeError as error:
            found = f"no JSON ({error.msg} at column {error.colno})"
            raise DatasetError(file, line=line, found=found, expected="one JSON object in a line") from None
        except (ValueError, RecursionError):
            found = "JSON that is nested too deep or holds a number too long"
            raise DatasetError(file, line=line, found=found, expected="one JSON object in a line") from None
        if not isinstance(values, dict):
            found = "JSON that is no object"
            raise DatasetError(file, line=line, found=found, expected="one JSON object in a line")
        columns.update(dict.fromkeys(values))
        rows.append(Row(len(rows) + 1, line, values))
        _refuse_too_many(rows, columns, file)
    return Table("jsonl", tuple(columns), tuple(rows))
