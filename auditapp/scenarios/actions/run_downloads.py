"""Recording that a table of a run left the site."""

from __future__ import annotations

from django.db import transaction

from auditapp.batches.models import Batch
from transcripts.accounts.models import User
from transcripts.audit_trail import trail


@transaction.atomic
def record_download(*, batch: Batch, what: str, format: str, sha256: str, by: User) -> None:
    """Record a download of ``what``: retention, arms or gaps."""
    trail.record(
        "scenarios.report.downloaded",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={"what": what, "format": format, "sha256": sha256},
    )
