"""The tables of a batch's report as files."""

from __future__ import annotations

from django.http import HttpResponse

from auditapp.batches.models import Batch
from transcripts.accounts.models import User
from transcripts.formats.report_tables import ReportTable, Source
from transcripts.projects.downloads import send_report_table


def send_batch_table(
    table: ReportTable[Source],
    source: Source,
    format: str,
    action: str,
    *,
    batch: Batch,
    report: str,
    by: User,
    caption: str = "",
) -> HttpResponse:
    """The file of a table, named for its ``report``, its batch and the table. ``action`` is the audit event that says that it left
    the site. Raises ``Http404`` for a format that there is not."""
    return send_report_table(
        table,
        source,
        format,
        action,
        stem=f"{report}-{batch.pk}-{table.name}",
        project=batch.project,
        target=batch,
        by=by,
        details={"what": table.name},
        caption=caption,
        label=f"{report}-{table.name}",
    )
