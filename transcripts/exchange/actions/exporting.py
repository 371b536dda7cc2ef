"""Exports of a study: written completely or not at all, and recorded with a hash of the bytes.

Also the jobs for a worker: exports that take long, and large project files of REFI-QDA.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.db import transaction
from django.http import FileResponse, QueryDict

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Interview
from transcripts.exchange.actions.importing import StudyRefused, import_qdpx
from transcripts.exchange.queries import NoCodebook
from transcripts.exchange.refi.details import StudyReport
from transcripts.exchange.rows import PARQUET, Export, Scope, count_without_consent, find_export, name_file
from transcripts.exchange.settled import NoDemonstrations
from transcripts.formats.problems import FileRefused, list_once
from transcripts.formats.report_tables import Field, ParquetNotInstalled, write_parquet
from transcripts.formats.tabular import MAX_CELL, Groups, group_rows, write_csv, write_json, write_jsonl
from transcripts.jobs.actions import start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobKind, JobRun
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.downloads import CONTENT_TYPES
from transcripts.studies.roles import Permission, Role

WRITERS: dict[str, Callable[..., int]] = {"csv": write_csv, "json": write_json, "jsonl": write_jsonl}

# The number of rows that are prepared before the time of a waiting person is checked.
ROWS_BETWEEN_LOOKS = 500


class Written(NamedTuple):
    """A written file: its number of rows, its SHA-256 and, for a CSV, of cells that are longer than a spreadsheet keeps."""

    rows: int
    sha256: str
    long_cells: int = 0


def say_long_cells(number: int) -> str:
    """A sentence about such cells; empty if there are none."""
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
    """Write one export to ``path``: the file is complete and recorded, or does not exist.

    The rows of a table come from one statement, which sees one state of the database and does not block writers. CSV cells that
    a spreadsheet could take for formulas get an apostrophe unless ``exact``. Raises ``Refused``.
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
    """The description of a file in its audit event."""
    told: dict[str, object] = {"format": format, "rows": written.rows, "sha256": written.sha256, "exact": exact}
    return {**told, "long_cells": written.long_cells} if written.long_cells else told


def _write(export: Export, scope: Scope, format: str, draft: Path, *, exact: bool) -> tuple[int, int]:
    """Write the file; returns its number of rows, and of cells that are longer than a spreadsheet keeps."""
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
    """The rows of a table; ``scope.watch`` receives their number from time to time."""
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
    """End the block without a half-read query, whatever ends it.

    An exception keeps its frames, and these keep their rows. SQLite refuses to write on a connection that is still reading if
    somebody else has saved in the meantime.
    """
    try:
        yield
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)
        raise


@contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """An empty file in the same folder, which is removed at the end unless it has replaced the target."""
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


# Exports that take longer than this are left to a worker.
DIRECT_SECONDS = 2.0
MAX_TOLD = 20


class TooLong(Exception):
    """The file cannot be written while somebody waits for it."""


def watch_time() -> Callable[[int, int], None]:
    """The ``watch`` of a scope whose file is written while a person waits. Raises ``TooLong``."""
    began = time.monotonic()

    def watch(_done: int, _total: int) -> None:
        if time.monotonic() - began > DIRECT_SECONDS:
            raise TooLong

    return watch


def write_or_leave(
    *, export: Export, scope: Scope, format: str, exact: bool, by: User, role: Role, unblind: Collection[int] = ()
) -> FileResponse | ImportJob:
    """The file, written while a person waits, or a worker's job if that takes too long.

    ``unblind``: the interviews that the file unblinds for her, if it can be written. Raises ``Refused``.
    """
    try:
        return _send(export, scope, format, exact=exact, viewer=Viewer(scope.study, by, role), unblind=unblind)
    except TooLong:
        return start_export(export=export, scope=scope, format=format, exact=exact, by=by, role=role, unblind=unblind)


def start_export(
    *, export: Export, scope: Scope, format: str, exact: bool, by: User, role: Role, unblind: Collection[int] = ()
) -> ImportJob:
    """Leave an export to a worker. Raises ``Refused``."""
    options = {
        "name": f"{export.name} as {format.upper()}",
        "export": export.key,
        "format": format,
        "only_own": scope.only is not None,
        "exact": exact,
        "with_left_out": scope.with_left_out,
        "kind": scope.kind,
        "run": scope.run,
        "role": role.key,
        "unblind": sorted(unblind),
    }
    return start_job(study=scope.study, kind=EXPORT.name, by=by, options=options)


def _send(
    export: Export, scope: Scope, format: str, *, exact: bool, viewer: Viewer, unblind: Collection[int]
) -> FileResponse:
    """The file as an answer; its hash is in the header X-Content-SHA256. Raises ``TooLong`` or ``Refused``."""
    # The folder is removed when the response is closed.
    folder = tempfile.TemporaryDirectory(prefix="auditapp-export-")
    path = Path(folder.name) / f"{export.key}.{format}"
    try:
        written = write_file(
            export=export,
            scope=scope._replace(watch=watch_time()),
            format=format,
            path=path,
            exact=exact,
            record=lambda details: hand_over(viewer, export, scope, details=details, unblind=unblind),
        )
    except (TooLong, Refused):
        folder.cleanup()
        raise
    name = name_file(export, scope, format)
    response = FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=CONTENT_TYPES[format])
    response["X-Content-SHA256"] = written.sha256
    if written.long_cells:
        response["X-Long-Cells"] = str(written.long_cells)
    response._resource_closers.append(folder.cleanup)  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def find_hidden(viewer: Viewer, export: Export, scope: Scope) -> set[int]:
    """The interviews whose labels this person may not see yet and would see in the file.

    They include every archived or excluded interview that she has not unblinded: she may code it again once it is restored.
    """
    machine = viewer.blinded(export.find_unblinded(viewer.study)) if export.find_unblinded is not None else set()
    left_out = set[int]()
    if scope.with_left_out and viewer.codes:
        rows = viewer.study.every_interview.left_out().exclude(pk__in=viewer.unblinded_anywhere)
        left_out = set(rows.values_list("pk", flat=True))
    hidden = machine | viewer.hidden_interviews | left_out
    if hidden and export.is_narrowed and scope.is_narrowed:
        hidden &= set(Interview.objects.filter(scope.within()).values_list("pk", flat=True))
    return hidden


@transaction.atomic
def hand_over(
    viewer: Viewer, export: Export, scope: Scope, *, details: dict[str, object], unblind: Collection[int]
) -> None:
    """Record a written file and its unblindings: both, or neither. Raises ``Refused``."""
    check_blind(viewer, export, scope, unblind=unblind)
    if unblind:
        interviews = list(scope.study.every_interview.kept().filter(pk__in=unblind).order_by("pk"))
        unblind_interviews(study=scope.study, interviews=interviews, by=viewer.user, where="export")
    record_export(export=export, scope=scope, by=viewer.user, details=details)


def check_blind(viewer: Viewer, export: Export, scope: Scope, *, unblind: Collection[int]) -> None:
    """Refuse the file if others coded, while it was written, interviews that she did not agree to unblind."""
    if not export.unblinds or scope.only is not None:
        return
    if hidden := len(find_hidden(viewer, export, scope) - set(unblind)):
        others = f"{hidden:,} more interview{'' if hidden == 1 else 's'}"
        raise Refused(
            f"While the file was being written, others coded {others} that you have not unblinded. Export it again."
        )


def run_export(run: JobRun) -> None:
    """Write the file of a job and keep it."""
    job, options = run.job, run.job.options
    export, format = _find_export(job), options["format"]
    scope = Scope(
        job.study,
        job.asked_by if options["only_own"] else None,
        with_left_out=options.get("with_left_out", False),
        kind=options.get("kind", ""),
        run=options.get("run", ""),
        coder=job.asked_by if _find_viewer(job).codes else None,
    )
    unblind = options.get("unblind", [])
    _check_role(job, find_role(job.asked_by, job.study))
    rows_in_all = export.count_rows(scope) if export.count_rows is not None else 0
    watched = scope._replace(watch=lambda done, total: run.tell("Writing the file", done, total or rows_in_all))
    with tempfile.TemporaryDirectory(prefix="auditapp-export-") as folder:
        path = Path(folder) / f"{export.key}.{format}"
        run.tell("Writing the file", 0, rows_in_all)
        run.is_reading = True
        try:
            written = write_file(export=export, scope=watched, format=format, path=path, exact=options["exact"])
            run.is_reading = False
            check_blind(_find_viewer(job), export, scope, unblind=unblind)
        finally:
            run.is_reading = False
        run.store_result(path)
        size = path.stat().st_size
    file = {"name": name_file(export, scope, format), "content_type": CONTENT_TYPES[format], "sha256": written.sha256}
    details = describe_file(written, format=format, exact=options["exact"])
    outcome = {"rows": written.rows, "row": export.row, "size": size, "file": file}
    if note := say_long_cells(written.long_cells):
        outcome["note"] = note
    with transaction.atomic():
        hand_over(_find_viewer(job), export, scope, details=details, unblind=unblind)
        run.finish_with_file(size, outcome)


def _find_viewer(job: ImportJob) -> Viewer:
    """The present viewer for the person who requested it. Raises ``Refused``."""
    return Viewer(job.study, job.asked_by, _check_role(job, find_role(job.asked_by, job.study)))


def find_permission(job: ImportJob) -> Permission:
    """The permission for this export."""
    return _find_export(job).permission


def check_taking(job: ImportJob, _user: User, role: Role) -> None:
    """Check that she may still see everything in the file. Raises ``Refused``."""
    _check_role(job, role)


def _find_export(job: ImportJob) -> Export:
    export = find_export(job.options["export"])
    assert export is not None  # noqa: S101 - none is taken out of the registry
    return export


def _check_role(job: ImportJob, role: Role | None) -> Role:
    """Check that her role is still the same, because it decides what she may see. Raises ``Refused``."""
    if role is None or role.key != job.options["role"]:
        raise Refused("Your role in this study has changed since you requested this file. Export it again.")
    return role


EXPORT = JobKind(
    "export",
    "Export",
    "rows",
    run_export,
    "exchange/_job.html",
    "exchange:exports",
    noun="export",
    permission=find_permission,
    is_own=True,
    check_taking=check_taking,
)


def run_study(run: JobRun) -> None:
    """Check the file of a job, or import it as it was checked, with the people who were ticked then."""
    job = run.job
    [(name, data)] = run.read_files()
    people = job.outcome.get("people", [])
    apart = {each["guid"] or each["name"] for each in people} - set(job.options.get("members", []))
    try:
        report = import_qdpx(
            study=job.study,
            stream=io.BytesIO(data),
            name=name,
            by=job.asked_by,
            apart=apart,
            same_names=job.options.get("same_names", True),
            dry_run=job.check_only,
            run=run,
            finish=lambda stored: run.finish(_describe(stored)),
        )
    except StudyRefused as error:
        raise Refused(" ".join(list_once(str(error), error.problems[:MAX_TOLD]))) from error
    if job.check_only:
        with transaction.atomic():
            run.finish(_describe(report))


def _describe(report: StudyReport) -> dict[str, object]:
    """The report in the form that a job keeps."""
    people = [
        {
            "guid": person.guid,
            "name": person.name,
            "member": {"username": person.member.username} if person.member else None,
            "kept_apart_as": person.kept_apart_as,
        }
        for person in report.people
    ]
    return {
        "sha256": report.sha256,
        "kinds": report.kinds,
        "people": people,
        "notes": report.notes,
        "namesakes": report.namesakes,
        "left_out": report.left_out,
    }


def read_members(data: QueryDict) -> Mapping[str, object]:
    """Which people in the file are the members with the same names, and whether codes with the study's names are the study's."""
    return {"members": data.getlist("member"), "same_names": "same_names" in data}


PROJECT_FILE = JobKind(
    "study",
    "Project of another program",
    "texts",
    run_study,
    "exchange/_study_job.html",
    "exchange:import",
    read_choices=read_members,
)
