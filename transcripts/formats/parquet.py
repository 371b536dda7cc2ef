"""Tables as Parquet: the same rows as in CSV, each column of one type, in row groups.

pyarrow is an extra (``auditapp[parquet]``) and loaded only while such a file is written.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from transcripts.formats.tabular import group_rows, show_cell

# Rows of a row group, which are in memory together.
ROWS_OF_A_GROUP = 20_000
HOW_TO_GET_IT = "make parquet"
# Digits behind the point of a decimal: money is in nanodollars.
SCALE = 9
COMPRESSION: Final = "zstd"


class ParquetNotInstalled(Exception):
    """pyarrow is not installed here."""

    def __init__(self) -> None:
        super().__init__(
            f"Parquet needs pyarrow, which is not installed here. Install it with: {HOW_TO_GET_IT}. CSV has the same rows."
        )


class Field(NamedTuple):
    """A column: its heading, the type of its cells (text where none is known) and what it means."""

    name: str
    kind: type = str
    meaning: str = ""


def is_installed() -> bool:
    """Whether Parquet can be written here."""
    return importlib.util.find_spec("pyarrow") is not None


def write_parquet(rows: Iterable[Sequence[object]], *, fields: Sequence[Field], path: Path) -> int:
    """Write rows to a file; returns how many. ``None`` is null, and text is never escaped.

    Raises ``ParquetNotInstalled``, what ``fit_column`` raises, and what pyarrow raises for a cell that is not of its column's type.
    """
    if not is_installed():
        raise ParquetNotInstalled
    import pyarrow as pa
    from pyarrow import parquet

    schema, count = make_schema(fields), 0
    with parquet.ParquetWriter(path, schema, compression=COMPRESSION) as writer:
        for batches in _fill_groups(rows, fields, schema):
            writer.write_table(pa.Table.from_batches(batches, schema), row_group_size=ROWS_OF_A_GROUP)
            count += sum(batch.num_rows for batch in batches)
    return count


def make_schema(fields: Sequence[Field]) -> Any:
    """The types of a file, as pyarrow has them."""
    import pyarrow as pa

    types = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        Decimal: pa.decimal128(38, SCALE),
        date: pa.date32(),
        datetime: pa.timestamp("us", tz="UTC"),
        str: pa.string(),
    }
    return pa.schema([pa.field(each.name, types[each.kind], metadata={"meaning": each.meaning}) for each in fields])


def _fill_groups(rows: Iterable[Sequence[object]], fields: Sequence[Field], schema: Any) -> Iterator[list[Any]]:
    """Batches of rows, together a row group. Kept as pyarrow's columns, they take a tenth of the memory of rows."""
    import pyarrow as pa

    batches: list[Any] = []
    for columns in group_rows(rows, len(fields)):
        arrays = [
            pa.array(fit_column(column, each.kind), field.type)
            for column, each, field in zip(columns, fields, schema, strict=True)
        ]
        batches.append(pa.record_batch(arrays, schema=schema))
        if sum(batch.num_rows for batch in batches) >= ROWS_OF_A_GROUP:
            yield batches
            batches = []
    if batches:
        yield batches


def fit_column(column: Sequence[object], kind: type) -> Sequence[object]:
    """What pyarrow is given of a column: text where it is one of text, and otherwise what is of its kind.

    Raises ``ValueError`` for a number that is not finite, as in CSV, and ``TypeError`` for a truth value in a column of numbers and
    for a fraction in one of whole numbers: pyarrow would make 1.0 of the one and cut the other.
    """
    if kind is str:
        return [value if value is None or isinstance(value, str) else show_cell(value) for value in column]
    if kind is int or kind is float:
        for value in column:
            if isinstance(value, float):
                show_cell(value)
            if isinstance(value, bool) or (kind is int and isinstance(value, float) and not value.is_integer()):
                raise TypeError(f"{value} is no {'whole ' if kind is int else ''}number.")
    return column
