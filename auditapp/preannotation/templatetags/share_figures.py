"""How pages of checks write shares and codes: ``{% load share_figures %}``."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.codebook.models import Code
from transcripts.statistics.intervals import Interval, Share

register = template.Library()


@register.filter
def share(value: Share) -> SafeString:
    """A share in per cent with its interval, or a dash where there is nothing to divide by."""
    if value.value is None:
        return format_html("{}", "–")
    return format_html('{} <small class="interval">{}</small>', f"{100 * value.value:.1f} %", ends(value.interval))


@register.filter
def ends(interval: Interval | None) -> str:
    """An interval of shares; a dash for none."""
    return "–" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %".replace("-", "−")


@register.filter
def points(difference: float | None) -> str:
    """A difference of two shares in points of per cent, with a proper minus."""
    return "–" if difference is None else f"{100 * difference:+.1f} points".replace("-", "−")


@register.filter
def code_name(identifier: str, names: Mapping[str, Code]) -> str:
    """The name of a code; its identifier where it is not known."""
    return names[identifier].name if identifier in names else identifier
