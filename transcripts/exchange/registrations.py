"""The exports of the human half, and the jobs that import studies and write files."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from transcripts.coding.models import Coding
from transcripts.exchange.actions.exporting import EXPORT, PROJECT_FILE
from transcripts.exchange.exports import CODINGS, NEGOTIATION, RECORD, STUDY, TEAM, THEMES
from transcripts.exchange.rows import register_export
from transcripts.hooks import interviews_given_up, on
from transcripts.jobs.runs import register_job_kind


def list_codings_on(interviews: Sequence[int]) -> QuerySet[Coding]:
    """The rows that an import of a study has stored on interviews that never became visible."""
    return Coding.objects.filter(sentence__turn__interview__in=interviews)


for export in (*STUDY, *CODINGS, *TEAM, *NEGOTIATION, *THEMES, *RECORD):
    register_export(export)
register_job_kind(EXPORT)
register_job_kind(PROJECT_FILE)
on(interviews_given_up, list_codings_on)
