"""A study's table of targets as CSV: raw, target, secondary, tertiary."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from auditapp.sob.importing.normalising import TargetLabels, TargetRow, TargetsError, make_row
from auditapp.sob.row_files import DatasetError, decode_file, read_table

COLUMNS = TargetRow._fields
LARGEST_FILE = 2 * 1024 * 1024
_RELEASED = {
    "original": "raw",
    "normalized": "target",
    "normalized_secondary": "secondary",
    "normalized_tertiary": "tertiary",
}


def read_target_rows(data: bytes, *, name: str) -> list[dict[str, str]]:
    """The rows of a table of targets, checked as a whole. The released table's own column names are understood too.

    Raises TargetsError.
    """
    if len(data) > LARGEST_FILE:
        raise TargetsError(f"{name} has more than {LARGEST_FILE // 2**20} MB. A table of targets is smaller.")
    try:
        table = read_table(decode_file(data, file=name), file=name)
    except DatasetError as error:
        raise TargetsError(str(error)) from error
    names = {column: _RELEASED.get(column, column) for column in table.columns}
    if not {"raw", "target"} <= set(names.values()):
        raise TargetsError(f"{name} has no columns raw and target. A table of targets has {', '.join(COLUMNS)}.")
    rows = [make_row(row.number, {names[column]: value for column, value in row.values.items()}) for row in table.rows]
    return TargetLabels(rows).write()


def write_target_rows(rows: Iterable[Mapping[str, object]]) -> str:
    """The same rows as CSV, to be edited and read again."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
