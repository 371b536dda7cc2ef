"""Benchmark results of others: read from their files as they are, nothing stored here. Pure."""

from __future__ import annotations

from auditapp.benchmarks.sob.pure.importing_results.inspect_logs import read_inspect_log
from auditapp.benchmarks.sob.pure.importing_results.rows import (
    ResultError,
    ResultFile,
    ResultRow,
    TextIndex,
    match_rows,
)
from auditapp.benchmarks.sob.pure.importing_results.sob_results import read_sob_results

__all__ = [
    "ResultError",
    "ResultFile",
    "ResultRow",
    "TextIndex",
    "match_rows",
    "read_results",
]

ZIP = b"PK\x03\x04"


def read_results(data: bytes, *, name: str, task: str = "") -> ResultFile:
    """Read a file of results, of whichever kind it is; ``task`` is meant where the file does not say one.

    Raises ``ResultError``.
    """
    if data.startswith(ZIP) or data.lstrip()[:1] == b"{":
        return read_inspect_log(data, name=name, task=task)
    return read_sob_results(data, name=name, task=task)
