"""A table of a batch's report as a file: sent with its hash, and recorded."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.http import HttpResponse
from django.utils.http import content_disposition_header

from auditapp.batches.models import Batch
from transcripts.accounts.models import User
from transcripts.audit_trail import trail

FORMATS = {"csv": "text/csv; charset=utf-8", "tex": "application/x-tex; charset=utf-8"}


@transaction.atomic
def send_table(text: str, *, batch: Batch, report: str, what: str, format: str, by: User, action: str) -> HttpResponse:
    """The file of a table, named for its ``report``, its batch and ``what`` it is, in one of ``FORMATS``, with its SHA-256 in a
    header. ``action`` is the audit event that says that it left the site."""
    data = text.encode()
    sha256 = hashlib.sha256(data).hexdigest()
    trail.record(
        action,
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={"what": what, "format": format, "sha256": sha256},
    )
    name = content_disposition_header(True, f"{report}-{batch.pk}-{what}.{format}") or ""
    headers = {"Content-Disposition": name, "X-Content-SHA256": sha256}
    return HttpResponse(data, content_type=FORMATS[format], headers=headers)
