"""How pages on machine readers write figures: ``{% load preannotation_figures %}``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from transcripts.agreement.pure.shares import Interval

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
