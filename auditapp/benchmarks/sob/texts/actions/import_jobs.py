"""Large files of texts, loaded by a worker."""

from __future__ import annotations

from transcripts.jobs.runs import JobKind, JobRun

TEXTS = "texts"


def load_texts(run: JobRun) -> None:
    """Load the file of a job. Its options are the keywords of ``load_dataset``, as JSON, with the number of the table of
    targets as ``table``."""
    # Every command knows the kinds of jobs; the readers of files are loaded where one is read.
    from auditapp.benchmarks.sob.pure.loading.drawing import Draw
    from auditapp.benchmarks.sob.pure.loading.published_sources import Provenance
    from auditapp.benchmarks.sob.tables.actions import find_target_table
    from auditapp.benchmarks.sob.texts.actions.datasets import load_dataset

    job = run.job
    run.tell("Reading the file")
    reading = dict(job.options)
    number = reading.pop("table")
    draw, provenance = (reading.pop(name) for name in ("draw", "provenance"))
    [(file_name, data)] = run.read_files()
    table = find_target_table(job.project, number) if number is not None else None
    load_dataset(
        project=job.project,
        file_name=file_name,
        data=data,
        by=job.asked_by,
        target_table=table,
        draw=Draw(*draw) if draw else None,
        provenance=Provenance(*provenance) if provenance else None,
        run=run,
        **reading,
    )


TEXTS_KIND = JobKind(TEXTS, "Texts to be judged", "texts", load_texts, "sob/_job.html", "sob:load")
