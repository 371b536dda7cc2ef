"""Names of features."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

register = template.Library()


@register.filter
def named(feature: str, names: Mapping[str, str]) -> str:
    """The name of a feature, or its identifier where the codebook has it no longer."""
    return names.get(feature, feature)


@register.filter
def at(places: Mapping[str, int], key: str) -> int | str:
    """The sentence of a coding, by its id; "" where it is not known."""
    return places.get(key, "")
