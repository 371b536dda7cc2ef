"""Large project files of REFI-QDA, brought in by a worker after somebody has looked at who the people in them are."""

from __future__ import annotations

import io
from collections.abc import Mapping

from django.db import transaction
from django.http import QueryDict

from transcripts.exchange.actions import StudyRefused, import_qdpx
from transcripts.exchange.refi.report import StudyReport
from transcripts.formats.problems import list_once
from transcripts.imports.kinds import JobKind
from transcripts.imports.runs import JobRun
from transcripts.refusals import Refused

MAX_TOLD = 20


def run_study(run: JobRun) -> None:
    """Check the file of a job, or bring it in, as it was checked and for the people who were ticked then."""
    job = run.job
    [(name, data)] = run.read_files()
    people = job.outcome.get("people", [])
    apart = {each["guid"] or each["name"] for each in people} - set(job.options.get("members", []))
    try:
        report = import_qdpx(
            project=job.project,
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
