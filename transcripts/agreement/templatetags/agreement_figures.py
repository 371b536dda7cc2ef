"""Coefficients in words: ``{% load agreement_figures %}``."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.formats.numbers import write_interval, write_number
from transcripts.statistics.figures import Figure

register = template.Library()


@register.filter
def figure(value: Figure) -> SafeString:
    """A figure to two decimals with its interval, or a dash with the reason why there is none."""
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.reason)
    if value.interval is None:
        return format_html("{}", write_number(value.value))
    ends = write_interval(value.interval, 2)
    return format_html('{} <small class="interval">{}</small>', write_number(value.value), ends)
