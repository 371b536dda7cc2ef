"""How pages on machine readers write figures: ``{% load preannotation_figures %}``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from auditapp.preannotation.annotators.queries.prompt_codebook import name_side
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project
from transcripts.statistics.intervals import Interval

register = template.Library()


@register.filter
def share_of_one(share: float | str | None) -> str:
    """A share from 0 to 1 in per cent with one place; a dash where it is undefined."""
    return "–" if share is None or share == "" else f"{100 * float(share):.1f} %"


@register.filter
def share_interval(interval: Interval | None) -> str:
    """Both ends of an interval of a share in per cent; a dash where there is none."""
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %" if interval else "–"


@register.filter
def without_examples(outcomes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The codes that nobody has applied: for all of them one sentence says the same."""
    return [each for each in outcomes if not each["positives"]]


@register.filter
def entry_of(mapping: Mapping[Any, Any], key: object) -> object:
    """What a mapping holds under a key; the key itself where nothing."""
    return mapping.get(key, key)


@register.inclusion_tag("preannotation/_turn_codes_left_out.html")
def turn_codes_left_out(project: Project) -> dict[str, list[str]]:
    """Which families a page leaves out that knows codes of sentences alone: those of whole turns, by name, the model's and the
    interviewer's apart."""
    families = CodeFamily.objects.filter(version=current_version(project), unit=CodeFamily.Unit.TURN).order_by(
        "position"
    )
    named: dict[str, list[str]] = {"model": [], "interviewer": []}
    for family in families:
        named[name_side(family)].append(family.name)
    return named
