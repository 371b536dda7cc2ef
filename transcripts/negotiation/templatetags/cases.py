"""Names of features, and of what turns were meant to be."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from transcripts.negotiation.pure.intents import NAMES

register = template.Library()


@register.filter
def named(feature: str, names: Mapping[str, str]) -> str:
    """The name of a feature, or its identifier where the codebook has it no longer."""
    return names.get(feature, feature)


@register.filter
def intent(kind: str) -> str:
    """What a turn was meant to be, in words; scripts and the API may say anything, which is shown as it is."""
    return NAMES.get(kind, kind)


@register.filter
def at(places: Mapping[str, int], key: str) -> int | str:
    """The sentence of a coding, by its id; "" where it is not known."""
    return places.get(key, "")
