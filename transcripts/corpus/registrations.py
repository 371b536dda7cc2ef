"""What the texts add to the registries of other rooms."""

from __future__ import annotations

from transcripts.corpus.import_jobs import INTERVIEWS
from transcripts.jobs.runs import register_job_kind

register_job_kind(INTERVIEWS)
