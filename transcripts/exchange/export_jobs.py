"""Exports that are sent at once, and those that take long: written by a worker and kept for some days."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from django.db import transaction
from django.http import FileResponse

from transcripts.accounts.models import User
from transcripts.blinding.viewers import Viewer
from transcripts.exchange.actions import CONTENT_TYPES, ExportError, record_export, write_export, write_file
from transcripts.exchange.registry import Export, Scope, find_export
from transcripts.imports.actions import start_job
from transcripts.imports.kinds import JobKind
from transcripts.imports.models import ImportJob
from transcripts.imports.runs import JobRefused, JobRun
from transcripts.projects.access import find_role
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission, Role

# What takes longer than this is left to a worker.
DIRECT_SECONDS = 2.0


class TooLong(Exception):
    """The file cannot be written while somebody waits for it."""


def watch_time() -> Callable[[int, int], None]:
    """What a scope is given whose file is written while somebody waits. Raises ``TooLong``."""
    began = time.monotonic()

    def watch(_done: int, _total: int) -> None:
        if time.monotonic() - began > DIRECT_SECONDS:
            raise TooLong

    return watch


def send_export(*, export: Export, scope: Scope, format: str, exact: bool, by: User) -> FileResponse:
    """Write the file while somebody waits, and answer with it; its hash is in the header X-Content-SHA256.

    Raises ``TooLong`` where that takes longer than ``DIRECT_SECONDS``, or ``ExportError``.
    """
    # The folder goes when the response is closed.
    folder = tempfile.TemporaryDirectory(prefix="auditapp-export-")
    path = Path(folder.name) / f"{export.key}.{format}"
    watched = scope._replace(watch=watch_time())
    try:
        _, sha256 = write_export(export=export, scope=watched, format=format, path=path, by=by, exact=exact)
    except (TooLong, ExportError):
        folder.cleanup()
        raise
    name = f"{scope.project.slug}-{export.key}.{format}"
    response = FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=CONTENT_TYPES[format])
    response["X-Content-SHA256"] = sha256
    response._resource_closers.append(folder.cleanup)  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def start_export(
    *,
    project: Project,
    export: Export,
    format: str,
    only_own: bool,
    exact: bool,
    by: User,
    role: Role,
    with_left_out: bool = False,
    kind: str = "",
    run: str = "",
) -> ImportJob:
    """Leave an export to a worker. Raises ``JobRefused``."""
    options = {
        "name": f"{export.name} as {format.upper()}",
        "export": export.key,
        "format": format,
        "only_own": only_own,
        "exact": exact,
        "with_left_out": with_left_out,
        "kind": kind,
        "run": run,
        "role": role.key,
    }
    return start_job(project=project, kind=EXPORT.name, by=by, options=options)


def find_hidden(viewer: Viewer, export: Export, *, with_left_out: bool = False) -> set[int]:
    """The interviews whose labels this person may not see yet, and would see in the file.

    Of archived and excluded ones, every one that she has not unblinded: she may code it again once it is restored.
    """
    machine = viewer.blinded(export.find_unblinded(viewer.project)) if export.find_unblinded is not None else set()
    left_out = set[int]()
    if with_left_out and viewer.codes:
        rows = viewer.project.every_interview.left_out().exclude(pk__in=viewer.unblinded_anywhere)
        left_out = set(rows.values_list("pk", flat=True))
    return machine | viewer.hidden_interviews | left_out


def run_export(run: JobRun) -> None:
    """Write the file of a job and keep it."""
    job, options = run.job, run.job.options
    export, format = _find_export(job), options["format"]
    scope = Scope(
        job.project,
        job.asked_by if options["only_own"] else None,
        with_left_out=options.get("with_left_out", False),
        kind=options.get("kind", ""),
        run=options.get("run", ""),
    )
    _check_role(job, find_role(job.asked_by, job.project))
    rows_in_all = export.count_rows(scope) if export.count_rows is not None else 0
    scope = scope._replace(watch=lambda done, total: run.tell("Writing the file", done, total or rows_in_all))
    with tempfile.TemporaryDirectory(prefix="auditapp-export-") as folder:
        path = Path(folder) / f"{export.key}.{format}"
        run.tell("Writing the file", 0, rows_in_all)
        run.is_reading = True
        try:
            rows, digest = write_file(export=export, scope=scope, format=format, path=path, exact=options["exact"])
        except ExportError as error:
            raise JobRefused(str(error)) from error
        finally:
            run.is_reading = False
        _check_blind(job, export)
        run.store_result(path)
        size = path.stat().st_size
    file = {
        "name": f"{job.project.slug}-{export.key}.{format}",
        "content_type": CONTENT_TYPES[format],
        "sha256": digest,
    }
    with transaction.atomic():
        details: dict[str, object] = {"format": format, "rows": rows, "sha256": digest, "exact": options["exact"]}
        record_export(export=export, scope=scope, by=job.asked_by, details=details)
        run.finish_with_file(size, {"rows": rows, "row": export.row, "size": size, "file": file})


def find_permission(job: ImportJob) -> Permission:
    """What a person needs to export this."""
    return _find_export(job).permission


def check_taking(job: ImportJob, _user: User, role: Role) -> None:
    """Whether she may still see everything in the file. Raises ``JobRefused``."""
    _check_role(job, role)


def _find_export(job: ImportJob) -> Export:
    export = find_export(job.options["export"])
    assert export is not None  # noqa: S101 - none is taken out of the registry
    return export


def _check_role(job: ImportJob, role: Role | None) -> None:
    """What somebody may see hangs on her role, and what she unblinded in it stays so."""
    if role is None or role.key != job.options["role"]:
        raise JobRefused("Your role in this study is another one since you asked for this file. Export it again.")


def _check_blind(job: ImportJob, export: Export) -> None:
    """Others may have coded more since she unblinded what there was. Raises ``JobRefused``."""
    role = find_role(job.asked_by, job.project)
    _check_role(job, role)
    if not export.unblinds or job.options["only_own"] or role is None:
        return
    hidden = len(
        find_hidden(
            Viewer(job.project, job.asked_by, role), export, with_left_out=job.options.get("with_left_out", False)
        )
    )
    if hidden:
        others = f"{hidden:,} more interview{'' if hidden == 1 else 's'}"
        raise JobRefused(
            f"While the file was written, others coded {others} that you have not unblinded. Export it again."
        )


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
