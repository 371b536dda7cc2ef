"""Large files of interviews, imported by a worker."""

from __future__ import annotations

from transcripts.imports.kinds import JobKind
from transcripts.imports.runs import JobRefused, JobRun


def run_import(run: JobRun) -> None:
    """Check or import the files of a job. Its only option is ``format``."""
    # Every command knows the kinds of jobs; the readers of files are loaded where one is read.
    from transcripts.corpus.actions import ImportRefused, import_files, plan_imports

    job = run.job
    run.tell("Reading the files")
    try:
        if job.check_only:
            plan_imports(project=job.project, files=run.read_files(), format=job.options["format"], run=run)
        else:
            import_files(
                project=job.project, files=run.read_files(), format=job.options["format"], by=job.asked_by, run=run
            )
    except ImportRefused as error:
        raise JobRefused(str(error)) from error


INTERVIEWS = JobKind("interviews", "Interviews", "turns", run_import, "corpus/_job.html", "corpus:import")
