"""What the sob benchmark registers with other rooms."""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.batches.kinds import register_kind
from auditapp.benchmarks.sob.judging.kind import FormatterKind, SobKind
from auditapp.benchmarks.sob.queries import KIND
from auditapp.benchmarks.sob.report.actions import BUNDLE_KIND
from auditapp.benchmarks.sob.report.comparisons import read_parts
from auditapp.benchmarks.sob.report.exports import SOB_ANSWERS
from auditapp.benchmarks.sob.report.stored_reports import request_missing_report, request_when_ended
from auditapp.benchmarks.sob.texts.actions.loading import TEXTS_KIND
from auditapp.llm.queries import register_scorecard_part
from transcripts.exchange.rows import register_export
from transcripts.hooks import batch_ended, on, worker_swept
from transcripts.jobs.runs import register_job_kind
from transcripts.studies.access import StudyRequest
from transcripts.studies.queries import Card, register_overview


def remove_abandoned() -> None:
    """Remove abandoned datasets in a sweep. Imports the readers of files here, so that only workers load them."""
    from auditapp.benchmarks.sob.texts.actions.loading import remove_abandoned_datasets

    remove_abandoned_datasets(seconds=1)


def place_newest(request: StudyRequest) -> Mapping[str, object] | None:
    """A placeholder for the newest batch, which the browser loads later, because its figures may have to be computed first."""
    return {} if request.study.batches.filter(kind=KIND).exists() else None


register_kind(SobKind())
register_kind(FormatterKind())
on(batch_ended, request_when_ended)
register_scorecard_part("sob", read_parts)
register_export(SOB_ANSWERS)
register_job_kind(TEXTS_KIND)
register_job_kind(BUNDLE_KIND)
on(worker_swept, remove_abandoned)
on(worker_swept, request_missing_report)
register_overview(Card(50, "sob/_card.html", place_newest))
