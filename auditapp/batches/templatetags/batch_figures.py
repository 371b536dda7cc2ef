"""How pages of batches write figures: ``{% load batch_figures %}``."""

from __future__ import annotations

from decimal import Decimal

from django import template

from auditapp.batches.money import to_dollars

register = template.Library()


@register.filter
def usd(amount: Decimal | None) -> str:
    """US dollars with as many places as small amounts need; a dash where not known."""
    if amount is None:
        return "–"
    if amount == 0:
        return "$0"
    places = 2 if amount >= Decimal("0.1") else 6
    return f"${amount:,.{places}f}"


@register.filter
def nano_usd(nano: int | None) -> str:
    """Whole nanodollars as US dollars."""
    return usd(to_dollars(nano))


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds in words of the largest two units; "not known yet" for ``None``."""
    if seconds is None:
        return "not known yet"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def in_words(name: str) -> str:
    """A stored name for reading: ``off_format`` is "off format"."""
    return name.replace("_", " ")


@register.filter
def thousands(number: int | None) -> str:
    """A whole number with a comma at every third place; a dash for ``None``."""
    return "–" if number is None else f"{number:,}"


@register.filter
def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` in per cent with one place; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "–"
