"""The next version of a study's own table; earlier versions do not change."""

from __future__ import annotations

from typing import TypeVar

from django.utils import timezone

from auditapp.sob.models.tables import NumberedTable
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

Table = TypeVar("Table", bound=NumberedTable)


def store_next(
    newest: Table | None, table: Table, *, project: Project, size: dict[str, int], by: trail.Actor, action: str
) -> Table:
    """Store ``table`` after the study's ``newest``, with one event that names its ``size``.

    ``sha256`` of the table is that of its rows as canonical JSON. The caller has locked the project's row.
    """
    table.number = newest.number + 1 if newest else 1
    table.made_by = by if isinstance(by, User) else None
    table.made_by_name = by.get_username()
    table.made_at = timezone.now()
    table.save(force_insert=True)
    details = {"number": table.number, **size, "sha256": table.sha256}
    trail.record(action, target=table, by=by, stream=trail.project_stream(project.pk), details=details)
    return table
