"""The next number of a table that a study keeps of its own; earlier ones stay as they are."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from django.utils import timezone

from auditapp.sob.models.tables import NumberedTable
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

Table = TypeVar("Table", bound=NumberedTable)


class Content(NamedTuple):
    """What a table holds; ``sha256`` is that of ``rows`` as canonical JSON, and ``size`` how much it holds, by name."""

    rows: object
    sha256: str
    reason: str
    size: dict[str, int]


def store_next(
    newest: Table | None, content: Content, *, kind: type[Table], project: Project, by: trail.Actor, action: str
) -> Table:
    """Store the table after the study's ``newest``, with one event. The caller has locked the project's row."""
    table = kind(
        project=project,
        number=newest.number + 1 if newest else 1,
        rows=content.rows,
        reason=content.reason,
        sha256=content.sha256,
        made_by=by if isinstance(by, User) else None,
        made_by_name=by.get_username(),
        made_at=timezone.now(),
    )
    table.save(force_insert=True)
    details = {"number": table.number, **content.size, "sha256": table.sha256}
    trail.record(action, target=table, by=by, stream=trail.project_stream(project.pk), details=details)
    return table
