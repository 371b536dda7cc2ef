"""Recording that figures of negotiation left the site."""

from __future__ import annotations

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project


def record_download(*, project: Project, coder: str, sha256: str, rows: int, by: User) -> None:
    """Record that the figures of one coder were downloaded."""
    trail.record(
        "negotiation.exported",
        target=f"study:{project.pk}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"coder": coder, "rows": rows, "sha256": sha256},
    )
