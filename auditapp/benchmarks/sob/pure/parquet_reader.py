"""The program that ``dataset_files.py`` starts: it reads a parquet file from standard input and writes one JSON object.

It imports no other code of this project. Of the file's content it writes only the rows.
"""

from __future__ import annotations

import io
import json
import sys

MEMORY = 1536 * 1024 * 1024
MAX_ROWS = 500_000
MAX_UNPACKED_BYTES = 128 * 1024 * 1024
MAX_ANSWER_BYTES = 192 * 1024 * 1024
SECONDS = 60


def main() -> None:
    """Write {"columns", "rows"}, or {"refusal", "expected"} for a fault that a person can fix."""
    data = sys.stdin.buffer.read()
    _limit_itself()
    try:
        import fastparquet
    except ImportError:
        _answer({"refusal": "a parquet file, which this installation cannot read", "expected": "the same table as csv"})
        return
    _answer(_read(fastparquet.ParquetFile(io.BytesIO(data))))


def _read(file: object) -> dict[str, object]:
    footer = file.fmd  # type: ignore[attr-defined]
    groups = footer.row_groups or []
    if footer.num_rows > MAX_ROWS or sum(group.num_rows for group in groups) > MAX_ROWS:
        return {"refusal": f"a parquet file of more than {MAX_ROWS:,} rows", "expected": "fewer; split the table"}
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED_BYTES:
        return _refuse_size()
    if not footer.num_rows:
        return {"refusal": "no rows", "expected": "at least one row"}
    table = file.to_pandas(index=False)  # type: ignore[attr-defined]
    columns = [str(name) for name in table.columns]
    rows = [[_write(value) for value in row] for row in table.itertuples(index=False, name=None)]
    return {"columns": columns, "rows": rows}


def _write(value: object) -> object:
    """A cell as text; None if it is missing. Missing values other than None are those that do not equal themselves."""
    if value is None or value != value:  # noqa: PLR0124
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value if isinstance(value, (list, dict, bool)) else str(value)


def _refuse_size() -> dict[str, object]:
    return {
        "refusal": f"a parquet file that unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MB",
        "expected": "less; split the table, or take out columns",
    }


def _answer(answer: dict[str, object]) -> None:
    """Write the answer, or a refusal if it is too large although the sizes in the file's footer were within the limit."""
    written = json.dumps(answer)
    sys.stdout.write(written if len(written) <= MAX_ANSWER_BYTES else json.dumps(_refuse_size()))


def _limit_itself() -> None:
    """Limit memory and processor time, if the system can; otherwise only the parent's timeout limits this process."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


if __name__ == "__main__":
    main()
