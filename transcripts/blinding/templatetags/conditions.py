"""Whether the viewer has opened a condition: ``{% load conditions %}``."""

from __future__ import annotations

from django import template

from transcripts.accounts.models import User
from transcripts.blinding.conditions import find_opening
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Interview

register = template.Library()


@register.simple_tag
def condition_opening(interview: Interview, person: User) -> Unblinding | None:
    """When this person opened the condition of a masked interview for herself, if she did."""
    return find_opening(interview, person)
