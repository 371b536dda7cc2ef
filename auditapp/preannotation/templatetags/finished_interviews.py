"""What a coder has finished and her own figures do not count yet: ``{% load finished_interviews %}``."""

from __future__ import annotations

from django import template

from transcripts.accounts.models import User
from transcripts.projects.models import Project
from transcripts.rounds.queries import closes_the_rest, count_unshown

register = template.Library()


@register.simple_tag
def count_finished(project: Project, coder: User) -> int:
    """How many interviews she has finished without opening her figures with them. One query."""
    return count_unshown(project, coder)


@register.simple_tag
def is_dealt_out(project: Project) -> bool:
    """Whether interviews are assigned here, so that they are signed off instead of finished. One query."""
    return closes_the_rest(project)
