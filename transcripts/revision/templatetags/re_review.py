"""How many codings need re-review, for pages of rooms below this one: ``{% load re_review %}``."""

from __future__ import annotations

from django import template

from transcripts.accounts.models import User
from transcripts.codebook.queries import current_version
from transcripts.revision.queries import list_due
from transcripts.studies.models import Study

register = template.Library()


@register.simple_tag
def count_re_reviews(study: Study, coder: User) -> int:
    """How many of a person's codings need re-review and can be reviewed now. Two queries."""
    version = current_version(study)
    return sum(each.is_open for each in list_due(version, coder=coder)) if version else 0
