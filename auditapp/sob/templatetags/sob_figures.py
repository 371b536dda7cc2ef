"""How pages of the benchmark write figures: ``{% load sob_figures %}``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template

from auditapp.sob.pure.showing.figures import in_words, write_decimals

register = template.Library()

register.filter("task_name", in_words)


@register.filter
def decimals(value: float | str | None, places: int = 2) -> str:
    """A figure with that many places; a dash where it is undefined. Templates give "" for what is not there."""
    return "–" if value is None or value == "" else write_decimals(float(value), places)


@register.filter
def signed(value: float | str | None, places: int = 2) -> str:
    """A difference with its sign; a dash where it is undefined."""
    if value is None or value == "":
        return "–"
    shown = write_decimals(float(value), places)
    if float(shown) == 0:
        return shown.removeprefix("-")
    return shown.replace("-", "−") if float(shown) < 0 else f"+{shown}"


@register.filter
def interval(bounds: Sequence[float] | None, places: int = 2) -> str:
    """Two bounds for reading; a dash where there is no interval."""
    return " to ".join(signed(bound, places).removeprefix("+") for bound in bounds) if bounds else "–"


@register.filter
def in_percent(bounds: Sequence[float] | None) -> list[float] | None:
    """Shares from 0 to 1 in per cent."""
    return [100 * bound for bound in bounds] if bounds else None


@register.filter
def percent(share: float | str | None) -> str:
    """A share from 0 to 1 in per cent with one place; a dash where it is undefined."""
    return "–" if share is None or share == "" else f"{100 * float(share):.1f} %"


@register.filter
def p_value(p: float | str | None) -> str:
    """A probability with three significant figures, small ones in powers of ten; a dash where there is none."""
    if p is None or p == "":
        return "–"
    if float(p) >= 0.001:
        return f"{float(p):.3f}"
    return "under 1e-300" if float(p) == 0 else f"{float(p):.2e}"


@register.filter
def entry(mapping: Any, key: object) -> Any:
    """What a mapping holds under a key; "" where nothing."""
    return mapping.get(key, "") if mapping else ""
