"""Writing the methods paragraph of a study."""

from __future__ import annotations

from pathlib import Path

from django.utils import timezone

from transcripts.exchange.methods.facts import read_facts
from transcripts.exchange.methods.wording import MethodsText, as_markdown, write_text
from transcripts.exchange.registry import Scope
from transcripts.projects.models import Project
from transcripts.ui.context import VERSION


def draft_text(project: Project) -> MethodsText:
    """The text as the record has it now."""
    return write_text(read_facts(project, now=timezone.now()), version=VERSION)


def write_methods(scope: Scope, path: Path) -> int:
    """Write the text as Markdown; returns the number of its parts."""
    text = draft_text(scope.project)
    path.write_text(as_markdown(text), encoding="utf-8", newline="")
    return len(text.sections) + len(text.annex)
