"""The exports of the human half, and the jobs that bring studies in and files out."""

from __future__ import annotations

from transcripts.coding.models import Coding
from transcripts.corpus.storing import register_staged_work
from transcripts.exchange.export_jobs import EXPORT, PROJECT_FILE
from transcripts.exchange.exports import CODINGS, NEGOTIATION, RECORD, STUDY, TEAM, THEMES
from transcripts.exchange.rows import register_export
from transcripts.jobs.runs import register_job_kind

for export in (*STUDY, *CODINGS, *TEAM, *NEGOTIATION, *THEMES, *RECORD):
    register_export(export)
register_job_kind(EXPORT)
register_job_kind(PROJECT_FILE)
register_staged_work(lambda interviews: Coding.objects.filter(sentence__turn__interview__in=interviews))
