"""Coefficients in words: ``{% load agreement_figures %}``."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.agreement.pure.figures import two_decimals
from transcripts.statistics.figures import Figure

register = template.Library()
register.filter(two_decimals)


@register.filter
def figure(value: Figure) -> SafeString:
    """A figure to two decimals with its interval, or a dash with the reason why there is none."""
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.reason)
    if value.interval is None:
        return format_html("{}", two_decimals(value.value))
    low, high = two_decimals(value.interval.low), two_decimals(value.interval.high)
    return format_html('{} <small class="interval">{} to {}</small>', two_decimals(value.value), low, high)
