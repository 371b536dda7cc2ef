"""Handing out a study: written whole or not at all, and on record with a hash of the bytes."""

from __future__ import annotations

import hashlib
import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.exchange.queries import NoCodebook
from transcripts.exchange.rows import PARQUET, Export, Scope, count_without_consent
from transcripts.exchange.settled import NoDemonstrations
from transcripts.formats.problems import FileRefused
from transcripts.formats.report_tables import Field, ParquetNotInstalled, write_parquet
from transcripts.formats.tabular import MAX_CELL, Groups, group_rows, write_csv, write_json, write_jsonl
from transcripts.refusals import Refused

WRITERS: dict[str, Callable[..., int]] = {"csv": write_csv, "json": write_json, "jsonl": write_jsonl}

# So many rows of a table are made ready before somebody who waits may give up.
ROWS_BETWEEN_LOOKS = 500


class Written(NamedTuple):
    """A file that was written: its rows, its SHA-256, and of a CSV how many cells are longer than a spreadsheet keeps."""

    rows: int
    sha256: str
    long_cells: int = 0


def say_long_cells(number: int) -> str:
    """The sentence about such cells; empty where there are none."""
    if not number:
        return ""
    begin = "1 cell is" if number == 1 else f"{number:,} cells are"
    return (
        f"{begin} longer than the {MAX_CELL:,} characters that a spreadsheet keeps in a cell. The file contains them in full; open "
        "it with a program that is not a spreadsheet, or choose JSON."
    )


def write_export(
    *, export: Export, scope: Scope, format: str, path: Path, by: trail.Actor, exact: bool = False
) -> Written:
    """Write one export to ``path`` and record it. Raises ``Refused``."""
    return write_file(
        export=export,
        scope=scope,
        format=format,
        path=path,
        exact=exact,
        record=lambda details: record_export(export=export, scope=scope, by=by, details=details),
    )


def write_file(
    *,
    export: Export,
    scope: Scope,
    format: str,
    path: Path,
    exact: bool = False,
    record: Callable[[dict[str, object]], object] = lambda _details: None,
) -> Written:
    """Write one export to ``path``, which is there whole and recorded, or not at all.

    The rows of a table come from one statement, which sees one state of the database and keeps no writer waiting. CSV
    cells that a spreadsheet could take for formulas get an apostrophe unless ``exact``. Raises ``Refused``.
    """
    if format not in export.formats:
        raise Refused(f"{export.name} cannot be written as {format!r}; the formats are {', '.join(export.formats)}.")
    try:
        with letting_rows_go(), draft_beside(path) as draft:
            rows, long_cells = _write(export, scope, format, draft, exact=exact)
            written = Written(rows, hash_file(draft), long_cells)
            record(describe_file(written, format=format, exact=exact))
            draft.replace(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error
    except (FileRefused, NoCodebook, NoDemonstrations, ParquetNotInstalled) as error:
        raise Refused(str(error)) from error
    return written


def describe_file(written: Written, *, format: str, exact: bool) -> dict[str, object]:
    """What the record says of a file."""
    told: dict[str, object] = {"format": format, "rows": written.rows, "sha256": written.sha256, "exact": exact}
    return {**told, "long_cells": written.long_cells} if written.long_cells else told


def _write(export: Export, scope: Scope, format: str, draft: Path, *, exact: bool) -> tuple[int, int]:
    """The rows of the file, and how many of its cells are longer than a spreadsheet keeps."""
    write_file = export.files.get(format)
    if write_file is not None or export.read_rows is None:
        rows = export.files[format](scope, draft)
        _sync(draft)
        return rows, 0
    if format == PARQUET:
        fields = [Field(each.name, each.kind, each.meaning) for each in export.columns]
        rows = write_parquet(_watch(export, scope), fields=fields, path=draft)
        _sync(draft)
        return rows, 0
    long_cells: list[int] = []
    options: dict[str, object] = {}
    if format == "csv":
        options = {"escape_formulas": not exact, "note_long": long_cells.append}
    with draft.open("w", encoding="utf-8", newline="") as stream:
        rows = WRITERS[format](_watch(export, scope), header=export.header, stream=stream, **options)
        stream.flush()
        os.fsync(stream.fileno())
    return rows, sum(long_cells)


def _sync(draft: Path) -> None:
    with draft.open("rb") as written:
        os.fsync(written.fileno())


def _watch(export: Export, scope: Scope) -> Groups:
    """The rows of a table; ``scope.watch`` is told of them from time to time."""
    assert export.read_rows is not None  # noqa: S101 - a table is written
    return Groups(_watch_groups(export.read_rows(scope), len(export.columns), scope))


def _watch_groups(rows: Iterable[Sequence[object]], width: int, scope: Scope) -> Iterator[Sequence[Sequence[object]]]:
    done = 0
    for columns in group_rows(rows, width, ROWS_BETWEEN_LOOKS):
        scope.watch(done, 0)
        yield columns
        done += len(columns[0])


@contextmanager
def letting_rows_go() -> Iterator[None]:
    """Whatever ends the block early leaves no query half read.

    An exception keeps the frames it came through, and they keep their rows. SQLite refuses to write on a connection that still
    reads, as soon as somebody else has saved meanwhile.
    """
    try:
        yield
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)
        raise


@contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """An empty file in the same folder, gone at the end unless it was put in its place."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".draft-", delete=False) as stream:
        draft = Path(stream.name)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


@transaction.atomic
def record_export(*, export: Export, scope: Scope, by: trail.Actor, details: dict[str, object]) -> None:
    """One audit event for a file that was written."""
    trail.record(
        "export.written",
        target=f"export:{export.key}",
        by=by,
        stream=trail.study_stream(scope.study.pk),
        details={
            **details,
            **({"without_consent": left_out} if (left_out := count_without_consent(export, scope)) else {}),
            "own_rows_only": scope.only is not None,
            "with_left_out": scope.with_left_out,
            **({"kind": scope.kind} if scope.kind else {}),
            **({"run": scope.run} if scope.run else {}),
        },
    )


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
