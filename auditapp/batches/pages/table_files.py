"""A table of a batch's report as a file."""

from __future__ import annotations

from django.http import HttpResponse

from auditapp.batches.models import Batch
from transcripts.accounts.models import User
from transcripts.projects.downloads import send_download

FORMATS = {"csv": "text/csv; charset=utf-8", "tex": "application/x-tex; charset=utf-8"}


def send_table(text: str, *, batch: Batch, report: str, what: str, format: str, by: User, action: str) -> HttpResponse:
    """The file of a table, named for its ``report``, its batch and ``what`` it is, in one of ``FORMATS``. ``action`` is the audit
    event that says that it left the site."""
    return send_download(
        text.encode(),
        action,
        name=f"{report}-{batch.pk}-{what}.{format}",
        content_type=FORMATS[format],
        project=batch.project,
        target=batch,
        by=by,
        details={"what": what, "format": format},
    )
