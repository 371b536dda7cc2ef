"""Large files of interviews, imported by a worker."""

from __future__ import annotations

from django.http import QueryDict

from transcripts.corpus.models import Consent, Turn
from transcripts.imports.kinds import JobKind
from transcripts.imports.runs import JobRefused, JobRun

ROLE, TITLE = "role:", "title:"
ROLE_CHOICES = [(str(value), str(label)) for value, label in Turn.Role.choices]
# Coding is allowed unless somebody said no.
SCOPE_CHOICES = [(str(value), str(label)) for value, label in Consent.Scope.choices if value != Consent.Scope.CODING]


def read_posted_choices(data: QueryDict) -> dict[str, object]:
    """What was chosen of the files that were shown, as the options of a job; see ``read_choices``."""
    listed, taken = data.getlist("listed"), set(data.getlist("take"))
    chosen = {
        "leave_out": [each for each in listed if each not in taken],
        "speakers": data.getlist("speaker"),
        "roles": _read_named(data, ROLE),
        "titles": _read_named(data, TITLE),
        "model": data.get("model", ""),
        "consent": dict.fromkeys(data.getlist("consent"), True),
        "basis": data.get("basis", ""),
        "mask": "mask" in data,
    }
    return {name: value for name, value in chosen.items() if value}


def _read_named(data: QueryDict, prefix: str) -> dict[str, str]:
    """What was chosen by name. One that several files have is asked for each of them: what was changed counts."""
    given = {name.removeprefix(prefix): [one for one in data.getlist(name) if one.strip()] for name in data}
    return {
        name: given[name][-1] for full in data if full.startswith(prefix) and given[name := full.removeprefix(prefix)]
    }


def run_import(run: JobRun) -> None:
    """Check or import the files of a job. Its options are ``Choices`` as JSON."""
    # Every command knows the kinds of jobs; the readers of files are loaded where one is read.
    from transcripts.corpus.actions import import_files, plan_imports
    from transcripts.corpus.planning import READING, ImportRefused
    from transcripts.corpus.pure.choices import read_choices

    job = run.job
    run.tell(READING)
    try:
        choices = read_choices(job.options)
        with run.unpack_files() as files:
            if job.check_only:
                plan_imports(project=job.project, files=files, choices=choices, run=run)
            else:
                import_files(project=job.project, files=files, choices=choices, by=job.asked_by, run=run)
    except (ImportRefused, ValueError) as error:
        raise JobRefused(str(error)) from error


INTERVIEWS = JobKind(
    "interviews",
    "Interviews",
    "turns",
    run_import,
    "corpus/_job.html",
    "corpus:import",
    read_choices=read_posted_choices,
)
