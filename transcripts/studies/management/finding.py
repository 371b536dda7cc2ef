"""The study that a command names."""

from __future__ import annotations

from transcripts.studies.models import Study
from transcripts.ui.commands import find_row


def find_study(slug: str) -> Study:
    """The study at that address. Raises ``CommandError``."""
    hint = "Create one with `manage.py study create`."
    return find_row(Study.objects.order_by("slug"), "study", hint=hint, slug=slug)
