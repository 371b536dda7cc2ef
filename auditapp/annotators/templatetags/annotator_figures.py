"""How pages about annotators write figures, and which interviews a coder has completed that her own figures do not count yet:
``{% load annotator_figures %}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.annotators.pure.figures import Estimate
from auditapp.annotators.queries.annotators import name_side
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.rounds.queries import closes_the_rest, count_unshown
from transcripts.statistics.figures import NONE, write_interval, write_number
from transcripts.studies.models import Study

register = template.Library()


@register.filter
def estimate(value: Estimate | None) -> SafeString:
    """A figure with its interval by formula, its interval over turns, and its n; a dash with the reason if it is undefined."""
    if value is None:
        return format_html("{}", NONE)
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.figure.reason)
    return format_html(
        '{} <small class="interval">{}</small> <small class="interval">turns: {}</small> <small>n {}</small>',
        write_number(value.value),
        write_interval(value.interval, 2) if value.interval else "no interval",
        write_interval(value.figure.interval, 2) if value.figure.interval else "none",
        value.n,
    )


@register.filter
def without_examples(outcomes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The codes that nobody has applied, about which the page has a single sentence."""
    return [each for each in outcomes if not each["positives"]]


@register.filter
def code_name(identifier: str, names: Mapping[str, Code]) -> str:
    """The name of a code; its identifier where it is not known."""
    return names[identifier].name if identifier in names else identifier


@register.filter
def entry_of(mapping: Mapping[Any, Any], key: object) -> object:
    """The value of a key in a mapping; the key itself if there is none."""
    return mapping.get(key, key)


@register.inclusion_tag("annotators/_turn_codes_left_out.html")
def turn_codes_left_out(study: Study) -> dict[str, list[str]]:
    """The names of the families that a page leaves out because it counts only codes of sentences: families of whole turns,
    separately for the model's and the interviewer's turns."""
    families = CodeFamily.objects.filter(version=current_version(study), unit=CodeFamily.Unit.TURN).order_by("position")
    named: dict[str, list[str]] = {"model": [], "interviewer": []}
    for family in families:
        named[name_side(family)].append(family.name)
    return named


@register.simple_tag
def count_completed(study: Study, coder: User) -> int:
    """How many interviews she has completed that her figures do not count yet. One query."""
    return count_unshown(study, coder)


@register.simple_tag
def is_dealt_out(study: Study) -> bool:
    """Whether interviews are assigned in this study, so that they are completed as assignments. One query."""
    return closes_the_rest(study)
