"""Numbers and lists as the methods paragraph writes them: ``{% load methods_figures %}``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django import template

from transcripts.formats.numbers import write_out_of

register = template.Library()


@register.filter
def each_out_of(counts: Mapping[str, int], whole: int) -> str:
    """Named counts, each with its share of the whole."""
    return "; ".join(f"{name} {write_out_of(count, whole)}" for name, count in counts.items()) or "none"


@register.filter
def each_count(counts: Mapping[str, int]) -> str:
    """Named counts; what has no name is not known."""
    return "; ".join(f"{name or 'not known'}: {count:,}" for name, count in counts.items())


@register.filter
def and_list(parts: Iterable[str]) -> str:
    """As in "a, b and c"."""
    *before, last = list(parts) or ["none"]
    return f"{', '.join(before)} and {last}" if before else last
