"""The exports of the human half."""

from __future__ import annotations

from transcripts.exchange.export_jobs import EXPORT
from transcripts.exchange.exports import CODINGS, DEPRECATED, RECORD, STUDY, TEAM, THEMES
from transcripts.exchange.registry import register_export
from transcripts.exchange.study_jobs import PROJECT_FILE
from transcripts.imports.kinds import register_job_kind

for export in (*STUDY, *CODINGS, *TEAM, *THEMES, *RECORD, *DEPRECATED):
    register_export(export)
register_job_kind(EXPORT)
register_job_kind(PROJECT_FILE)
