"""From the bytes of any file we take to its rows: by what it holds, not by its name.

Parquet is binary and read by a library in C: a hostile file may ask for any amount of memory or crash its reader. So the reader
runs in a process of its own with limits, and neither the web process nor a worker ever loads it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

from auditapp.benchmarks.sob.pure.loading.published_sources import PublishedSource, find_published_source
from auditapp.benchmarks.sob.pure.loading.row_files import Row, Table, is_json, open_csv, read_rows
from transcripts.formats.problems import ReadError

GZIP_START = b"\x1f\x8b"
MAX_FILE_BYTES = 64 * 1024 * 1024
# A small file may unpack to one that fills the memory.
MAX_UNPACKED_BYTES = 128 * 1024 * 1024

OpenedFile = tuple[Table, PublishedSource | None]
"""The rows, and which of the benchmark's five sources they are, if any."""


def open_file(data: bytes, *, file: str) -> OpenedFile:
    """csv, JSON lines, either of them in gzip, or parquet. Raises ReadError."""
    if len(data) > MAX_FILE_BYTES:
        found = f"more than {MAX_FILE_BYTES // 2**20} MB"
        raise ReadError(file, None, found=found, expected="a smaller file; split it, or remove columns")
    if data.startswith(PARQUET_START):
        table = read_parquet(data, file=file)
        return table, find_published_source(table.columns)
    if data.startswith(GZIP_START):
        data = unpack_gzip(data, file=file)
    if is_json(data):
        table = read_rows(data, file=file)
        return table, find_published_source(list(table.rows[0].values))
    opened = open_csv(data, file=file)
    source = find_published_source(opened.headings)
    if source and source.has_literal_quotes:
        opened = open_csv(data, file=file, has_literal_quotes=True)
    return read_rows(opened, file=file), source


def unpack_gzip(data: bytes, *, file: str, largest: int = MAX_UNPACKED_BYTES) -> bytes:
    """The unpacked bytes of all its members. Raises ReadError for a damaged file and for more than ``largest`` bytes."""
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(largest + 1)
    except EOFError:
        raise ReadError(
            file, None, found="a gzip file that breaks off", expected="a whole one; fetch it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error):
        raise ReadError(file, None, found="a damaged gzip file", expected="a whole one; fetch it again") from None
    if len(unpacked) > largest:
        found = f"a gzip file that unpacks to more than {largest // 2**20} MB"
        raise ReadError(file, None, found=found, expected="less; split the file, or remove columns")
    return unpacked


PARQUET_START = b"PAR1"
READER = Path(__file__).with_name("parquet_reader.py")
SECONDS = 60
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")


def read_parquet(data: bytes, *, file: str) -> Table:
    """The rows of a parquet file with every value as text, or ``None``. Raises ReadError.

    Parquet is binary and read by a library in C: a hostile file may ask for any amount of memory or crash its reader. So the reader
    is a process of its own with limits, and neither the web process nor a worker ever loads it.
    """
    if not data.endswith(PARQUET_START):
        raise ReadError(file, None, found="a parquet file that breaks off", expected="a whole one; fetch it again")
    try:
        reader = subprocess.run(  # noqa: S603 - our own file, the data go in by its standard input
            [sys.executable, "-I", "-W", "ignore", str(READER)],
            input=data,
            capture_output=True,
            timeout=SECONDS,
            env=make_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        expected = "a smaller one, or the same table as csv"
        raise ReadError(file, None, found=f"a parquet file not read in {SECONDS} s", expected=expected) from None
    if reader.returncode != 0:
        raise ReadError(file, None, found="a parquet file that cannot be read", expected="the same table as csv")
    answer = json.loads(reader.stdout)
    if "refusal" in answer:
        raise ReadError(file, None, found=answer["refusal"], expected=answer["expected"])
    columns = tuple(answer["columns"])
    rows = tuple(
        Row(number, number, dict(zip(columns, values, strict=True)))
        for number, values in enumerate(answer["rows"], start=1)
    )
    return Table("parquet", columns, rows)


def make_environment() -> dict[str, str]:
    """Ours without its keys and passwords; each thread of a library of the reader would take of its memory."""
    kept = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
