"""The study that a command names."""

from __future__ import annotations

from transcripts.studies.models import Project
from transcripts.ui.commands import find_row


def find_study(slug: str) -> Project:
    """The study at that address. Raises ``CommandError``."""
    hint = "Create one with `manage.py study create`."
    return find_row(Project.objects.order_by("slug"), "study", hint=hint, slug=slug)
