"""Coefficients in words: ``{% load agreement_figures %}``."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.agreement.pure.figures import Figure

register = template.Library()


@register.filter
def figure(value: Figure) -> SafeString:
    """A figure to two decimals with its interval, or a dash with the reason why there is none."""
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.reason)
    if value.interval is None:
        return format_html("{}", two_decimals(value.value))
    low, high = two_decimals(value.interval.low), two_decimals(value.interval.high)
    return format_html('{} <small class="interval">{} to {}</small>', two_decimals(value.value), low, high)


@register.filter
def two_decimals(value: float) -> str:
    """A number to two decimals, with a proper minus; never a negative nought."""
    text = f"{value:.2f}"
    return text.replace("-0.00", "0.00").replace("-", "−")
