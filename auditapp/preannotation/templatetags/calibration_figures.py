"""Figures with both of their intervals: ``{% load calibration_figures %}``."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.preannotation.evaluation.pure.figures import Estimate
from transcripts.statistics.intervals import Interval

register = template.Library()


@register.filter
def estimate(value: Estimate | None) -> SafeString:
    """A figure with its interval by formula, that over turns, and its n; a dash with the reason where it is undefined."""
    if value is None:
        return format_html("{}", "–")
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.figure.reason)
    ends, turns = bounds(value.interval), value.figure.interval
    return format_html(
        '{} <small class="interval">{}</small> <small class="interval">turns: {}</small> <small>n {}</small>',
        decimals(value.value),
        ends or "no interval",
        f"{decimals(turns.low)} to {decimals(turns.high)}" if turns else "none",
        value.n,
    )


@register.filter
def decimals(value: float | None, places: int = 2) -> str:
    """A number with so many places and a proper minus, never a negative nought; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


@register.filter
def bounds(interval: Interval | None, places: int = 2) -> str:
    """Two ends for reading; nothing where there is no interval."""
    return f"{decimals(interval.low, places)} to {decimals(interval.high, places)}" if interval else ""
