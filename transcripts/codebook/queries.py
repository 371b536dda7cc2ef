"""What is read of codebooks."""

from __future__ import annotations

from transcripts.codebook.models import CodebookVersion
from transcripts.projects.models import Project


def current_version(project: Project) -> CodebookVersion | None:
    """The published version with the highest number: the one people code with. ``None`` before the first."""
    return project.codebook_versions.filter(status=CodebookVersion.Status.PUBLISHED).order_by("-number").first()


def latest_version(project: Project) -> CodebookVersion | None:
    """The version with the highest number, draft or published."""
    return project.codebook_versions.order_by("-number").first()
