"""What a worker carries out here: exports that take long, and large project files of REFI-QDA."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from django.db import transaction
from django.http import FileResponse, QueryDict

from transcripts.accounts.models import User
from transcripts.blinding.actions import unblind_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Interview
from transcripts.exchange.actions import (
    StudyRefused,
    describe_file,
    import_qdpx,
    record_export,
    say_long_cells,
    write_file,
)
from transcripts.exchange.refi.details import StudyReport
from transcripts.exchange.rows import Export, Scope, find_export, name_file
from transcripts.formats.problems import list_once
from transcripts.jobs.actions import start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobKind, JobRun
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.downloads import CONTENT_TYPES
from transcripts.studies.roles import Permission, Role

# What takes longer than this is left to a worker.
DIRECT_SECONDS = 2.0
MAX_TOLD = 20


class TooLong(Exception):
    """The file cannot be written while somebody waits for it."""


def watch_time() -> Callable[[int, int], None]:
    """What a scope is given whose file is written while somebody waits. Raises ``TooLong``."""
    began = time.monotonic()

    def watch(_done: int, _total: int) -> None:
        if time.monotonic() - began > DIRECT_SECONDS:
            raise TooLong

    return watch


def write_or_leave(
    *, export: Export, scope: Scope, format: str, exact: bool, by: User, role: Role, unblind: Collection[int] = ()
) -> FileResponse | ImportJob:
    """The file, written while somebody waits; where that takes long, the job of a worker who writes it.

    ``unblind``: the interviews that it unblinds for her, if it can be written. Raises ``Refused``.
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
    # The folder goes when the response is closed.
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
    """The interviews whose labels this person may not see yet, and would see in the file.

    Of archived and excluded ones, every one that she has not unblinded: she may code it again once it is restored.
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
    """Record a file that is written, and that it unblinds: both, or neither. Raises ``Refused``."""
    check_blind(viewer, export, scope, unblind=unblind)
    if unblind:
        interviews = list(scope.study.every_interview.kept().filter(pk__in=unblind).order_by("pk"))
        unblind_interviews(study=scope.study, interviews=interviews, by=viewer.user, where="export")
    record_export(export=export, scope=scope, by=viewer.user, details=details)


def check_blind(viewer: Viewer, export: Export, scope: Scope, *, unblind: Collection[int]) -> None:
    """Others may have coded more while the file was written than she agreed to unblind. Raises ``Refused``."""
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
    """Who asked, as she is now. Raises ``Refused``."""
    return Viewer(job.study, job.asked_by, _check_role(job, find_role(job.asked_by, job.study)))


def find_permission(job: ImportJob) -> Permission:
    """What a person needs to export this."""
    return _find_export(job).permission


def check_taking(job: ImportJob, _user: User, role: Role) -> None:
    """Whether she may still see everything in the file. Raises ``Refused``."""
    _check_role(job, role)


def _find_export(job: ImportJob) -> Export:
    export = find_export(job.options["export"])
    assert export is not None  # noqa: S101 - none is taken out of the registry
    return export


def _check_role(job: ImportJob, role: Role | None) -> Role:
    """What somebody may see hangs on her role, and what she unblinded in it stays so. Raises ``Refused``."""
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
    """Check the file of a job, or bring it in, as it was checked and for the people who were ticked then."""
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
    """The report as a job keeps it."""
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
    """Which people of the file are the members who bear their names, and whether codes with the study's names are the study's."""
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
