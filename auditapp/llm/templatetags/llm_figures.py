"""How pages of models write figures: ``{% load llm_figures %}``."""

from __future__ import annotations

from decimal import Decimal

from django import template

register = template.Library()


@register.filter
def exact_usd(amount: Decimal | str) -> str:
    """US dollars with all their decimal places, at least two; a dash if there is no price. A price is never rounded."""
    if not isinstance(amount, Decimal):
        return "–"
    whole, _, places = f"{amount.normalize():,f}".partition(".")
    return f"${whole}.{places:0<2}"


@register.filter
def percent(share: Decimal) -> str:
    """A share of one as per cent."""
    return f"{(100 * share).normalize():f} %"
