"""Bundles that take long, written by a worker and kept for some days."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.sob.pure.measures.report import REPORT_VERSION
from auditapp.sob.pure.outputs.report_files import name_file
from auditapp.sob.report.actions import record_bundle, write_bundle_file
from transcripts.accounts.models import User
from transcripts.imports.actions import start_job
from transcripts.imports.kinds import JobKind
from transcripts.imports.models import ImportJob
from transcripts.imports.runs import JobRun
from transcripts.projects.downloads import CONTENT_TYPES
from transcripts.projects.roles import Permission

BUNDLE = "bundle"


def name_bundle(batch_id: int) -> str:
    """The name of the file."""
    return name_file(batch_id, {"versions": {"report": REPORT_VERSION}}, BUNDLE, "zip")


def start_bundle(*, batch: Batch, with_texts: bool, by: User) -> ImportJob:
    """Leave a bundle to a worker. Reads batch.project. Raises ``Refused``."""
    options = {"name": f"Bundle of batch {batch.pk}", "batch": batch.pk, "texts": with_texts}
    return start_job(project=batch.project, kind=BUNDLE, by=by, options=options)


def run_bundle(run: JobRun) -> None:
    """Write the bundle of a job and keep it."""
    job = run.job
    batch = Batch.objects.select_related("project").get(pk=job.options["batch"], project=job.project_id)
    with_texts = job.options["texts"]
    with tempfile.TemporaryDirectory(prefix="auditapp-bundle-") as folder:
        path = Path(folder) / name_bundle(batch.pk)
        run.tell("Writing the file")
        run.is_reading = True
        try:
            facts = write_bundle_file(
                batch=batch,
                path=path,
                with_texts=with_texts,
                watch=lambda done, total: run.tell("Writing the file", done, total),
            )
        finally:
            run.is_reading = False
        run.store_result(path)
    file = {"name": path.name, "content_type": CONTENT_TYPES["zip"], "sha256": facts["sha256"]}
    with transaction.atomic():
        record_bundle(batch=batch, by=job.asked_by, facts=facts, with_texts=with_texts)
        size = facts["bytes"]
        run.finish_with_file(size, {"rows": facts["answers"], "size": size, "file": file})


BUNDLE_KIND = JobKind(
    BUNDLE,
    "Bundle of a benchmark batch",
    "answers and calls",
    run_bundle,
    "exchange/_job.html",
    "exchange:exports",
    noun="export",
    permission=lambda _job: Permission.EXPORT,
    is_own=True,
)
