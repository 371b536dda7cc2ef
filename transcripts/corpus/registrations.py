"""What this room adds to the registries of other rooms: a worker imports large files of interviews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.http import QueryDict

from transcripts.corpus.queries import IMPORT
from transcripts.jobs.runs import JobKind, JobRun, register_job_kind
from transcripts.refusals import Refused

if TYPE_CHECKING:
    from transcripts.corpus.forms import ChosenForm


def read_posted_choices(data: QueryDict) -> Mapping[str, object]:
    """The choices for the checked files; see ``forms.read_posted_choices``."""
    from transcripts.corpus import forms

    return forms.read_posted_choices(data)


def make_chosen_form(data: QueryDict | None, options: Mapping[str, object]) -> ChosenForm:
    """The form with the choices: posted ones, or the options of a job."""
    from transcripts.corpus.forms import ChosenForm

    return ChosenForm(data, initial=options)


def run_import(run: JobRun) -> None:
    """Check or import the files of a job. Its options are ``Choices`` as JSON.

    If some of its files cannot be read, nothing is imported: the others are then only checked.
    """
    # Every command knows the kinds of jobs; the readers of files are loaded where one is read.
    from transcripts.corpus.actions import find_refused, import_files, plan_imports
    from transcripts.corpus.planning import READING
    from transcripts.corpus.pure.previews import read_choices

    job = run.job
    run.tell(READING)
    try:
        # A consent is put on record when the files are imported; its basis may be given until then.
        choices = read_choices({**job.options, "consent": {}} if job.check_only else job.options)
        without = job.options.get("without") or []
        left_out = {name: why for name, why in job.outcome.get("left_out", {}).items() if name in without}
        with run.unpack_files() as unpacked:
            files = [(name, path) for name, path in unpacked if name not in without]
            try:
                if job.check_only:
                    plan_imports(study=job.study, files=files, choices=choices, run=run, left_out=left_out)
                else:
                    import_files(study=job.study, files=files, choices=choices, by=job.asked_by, run=run)
            except Refused:
                refused = find_refused(study=job.study, files=files, choices=choices, run=run)
                if not refused:
                    raise
                job.check_only = True
                files = [(name, path) for name, path in files if name not in refused]
                left_out |= refused
                plan_imports(study=job.study, files=files, choices=choices, run=run, left_out=left_out)
    except ValueError as error:
        raise Refused(str(error)) from error


register_job_kind(
    JobKind(
        IMPORT,
        "Interviews",
        "turns",
        run_import,
        "corpus/_job.html",
        "corpus:import",
        read_choices=read_posted_choices,
        make_form=make_chosen_form,
    )
)
