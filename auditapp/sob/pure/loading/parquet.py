"""Read a parquet file in a process of its own.

Parquet is binary and read by a library in C: a hostile file may ask for any amount of memory or crash its reader. So the reader
runs beside us with limits, and neither the web process nor a worker ever loads it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from auditapp.sob.pure.loading.row_files import Row, Table
from transcripts.formats.problems import ReadError

PARQUET_START = b"PAR1"
READER = Path(__file__).with_name("parquet_reader.py")
SECONDS = 60
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")


def read_parquet(data: bytes, *, file: str) -> Table:
    """Its rows with every value as text, or ``None``. Raises ReadError."""
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
