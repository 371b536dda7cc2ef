"""Export a batch: its report as files, and the whole batch as a bundle, by a worker if it takes long. Every export is recorded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.pure.answer_files import Record, write_bundle
from auditapp.benchmarks.sob.pure.report import REPORT_VERSION
from auditapp.benchmarks.sob.pure.tables import name_file
from auditapp.benchmarks.sob.report.exports import BundleSource
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, read_snapshot
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.exchange.actions import draft_beside, hash_file, letting_rows_go
from transcripts.jobs.actions import start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobKind, JobRun
from transcripts.refusals import Refused
from transcripts.studies.downloads import CONTENT_TYPES, record_download
from transcripts.studies.roles import Permission

ROWS_BETWEEN_LOOKS = 200
MEMBERS_COUNTED = {"texts": "inputs", "answers": "answers", "attempts": "attempts"}
# The audit event for a file that was downloaded.
TAKEN_OUT = "sob.file.taken_out"
BUNDLE = "bundle"


def write_sob_bundle(
    *, batch: Batch, path: Path, by: trail.Actor, with_texts: bool = True, choice: ReportChoice | None = None
) -> dict[str, Any]:
    """Write the bundle of a batch and record it: see ``write_bundle_file``."""

    def record(facts: dict[str, Any]) -> None:
        record_bundle(batch=batch, by=by, facts=facts, with_texts=with_texts)

    return write_bundle_file(
        batch=batch, path=path, with_texts=with_texts, choice=choice, record=record, watch=lambda _done, _total: None
    )


def write_bundle_file(
    *,
    batch: Batch,
    path: Path,
    with_texts: bool,
    watch: Callable[[int, int], object],
    choice: ReportChoice | None = None,
    record: Callable[[dict[str, Any]], object] = lambda _facts: None,
) -> dict[str, Any]:
    """Write the bundle of a batch and record it, or do neither.

    It contains the batch as it was at one moment, even while answers arrive, and blocks no writer. Without ``with_texts`` it has
    only the hashes of the texts. Returns the path, the hash, the size, and the number of texts, answers and attempts. ``watch``
    gets the progress, and may raise an exception to stop the writing. Raises ``Refused``.
    """
    try:
        with letting_rows_go(), draft_beside(path) as draft:
            written = _write_draft(draft, batch, choice, with_texts=with_texts, watch=watch)
            facts = {
                "path": path,
                "sha256": hash_file(draft),
                "bytes": draft.stat().st_size,
                **{name: written[f"{member}.jsonl"] for name, member in MEMBERS_COUNTED.items()},
            }
            with transaction.atomic():
                record(facts)
                draft.replace(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error
    return facts


def record_bundle(*, batch: Batch, by: trail.Actor, facts: dict[str, Any], with_texts: bool) -> None:
    """Record one audit event for a bundle."""
    details = {"what": "bundle", "sha256": facts["sha256"], "texts": with_texts, "answers": facts["answers"]}
    record_download(TAKEN_OUT, study=batch.study, target=batch, by=by, details=details)


def _write_draft(
    draft: Path, batch: Batch, choice: ReportChoice | None, *, with_texts: bool, watch: Callable[[int, int], object]
) -> dict[str, int]:
    with draft.open("wb") as stream:
        with read_snapshot():
            as_it_is = Batch.objects.select_related("study").get(pk=batch.pk)
            source = BundleSource(as_it_is, choice, with_texts=with_texts)
            members = _watch(source.list_members(), source.count_rows(), watch)
            written = write_bundle(stream, about=source.describe(), members=members)
        stream.flush()
        os.fsync(stream.fileno())
    return written


def _watch(
    members: dict[str, Iterable[Record]], total: int, watch: Callable[[int, int], object]
) -> dict[str, Iterable[Record]]:
    """The members; while they are read, ``watch`` gets the number of rows from time to time."""
    numbers = count()

    def look(records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            number = next(numbers)
            if number % ROWS_BETWEEN_LOOKS == 0:
                watch(min(number, total), total)
            yield record

    return {name: look(records) for name, records in members.items()}


def name_bundle(batch_id: int) -> str:
    """The file name of a bundle."""
    return name_file(batch_id, {"versions": {"report": REPORT_VERSION}}, BUNDLE, "zip")


def start_bundle(*, batch: Batch, with_texts: bool, by: User) -> ImportJob:
    """Have a worker write a bundle. Reads batch.study. Raises ``Refused``."""
    options = {"name": f"Bundle of batch {batch.pk}", "batch": batch.pk, "texts": with_texts}
    return start_job(study=batch.study, kind=BUNDLE, by=by, options=options)


def run_bundle(run: JobRun) -> None:
    """Write the bundle of a job and store it."""
    job = run.job
    batch = Batch.objects.select_related("study").get(pk=job.options["batch"], study=job.study_id)
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
