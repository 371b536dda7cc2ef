"""How pages write figures: ``{% load numbers %}``. An undefined figure is a dash; templates give "" for a missing variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.statistics.figures import (
    NONE,
    Figure,
    Share,
    write_interval,
    write_number,
    write_out_of,
    write_p,
    write_percent,
    write_percent_interval,
    write_points,
    write_signed,
)

register = template.Library()


@register.filter
def number(value: float | str | None, digits: int = 2) -> str:
    """A number with that many decimals."""
    return write_number(_read(value), digits)


@register.filter
def signed(value: float | str | None, digits: int = 2) -> str:
    """A difference with its sign."""
    return write_signed(_read(value), digits)


@register.filter
def ends(interval: Sequence[float] | None, digits: int = 2) -> str:
    """Both ends of an interval."""
    return write_interval(interval or None, digits)


@register.filter
def percent(value: float | str | None, digits: int = 1) -> str:
    """A share from 0 to 1 in per cent."""
    return write_percent(_read(value), digits)


@register.filter
def percent_ends(interval: Sequence[float] | None) -> str:
    """Both ends of an interval of a share, in per cent."""
    return write_percent_interval(interval or None)


@register.filter
def points(difference: float | str | None) -> str:
    """A difference of two shares in points of per cent."""
    return write_points(_read(difference))


register.filter("out_of", write_out_of)


@register.filter
def thousands(count: int | None) -> str:
    """A whole number with a comma at every third place."""
    return NONE if count is None else f"{count:,}"


@register.filter
def percent_of(part: int, whole: int) -> str:
    """``part`` of ``whole`` in per cent."""
    return write_percent(part / whole if whole else None)


@register.filter
def exact_percent(share: Decimal) -> str:
    """A share of one in per cent, with every place it has."""
    return f"{(100 * share).normalize():f} %"


@register.filter
def exact_usd(amount: Decimal | str) -> str:
    """US dollars with all their decimal places, at least two; a dash if there is no price. A price is never rounded."""
    if not isinstance(amount, Decimal):
        return NONE
    whole, _, places = f"{amount.normalize():,f}".partition(".")
    return f"${whole}.{places:0<2}"


@register.filter
def p_value(value: float | str | None) -> str:
    """A P value."""
    return write_p(_read(value))


@register.filter
def share_with_ends(value: Share) -> SafeString:
    """A share in per cent with its interval."""
    if value.value is None:
        return format_html("{}", NONE)
    return format_html(
        '{} <small class="interval">{}</small>', write_percent(value.value), write_percent_interval(value.interval)
    )


@register.filter
def figure(value: Figure) -> SafeString:
    """A figure to two decimals with its interval and its mark, or a dash with the reason why there is none."""
    if value.value is None:
        return format_html('<span class="undefined">– <small>{}</small></span>', value.reason)
    interval = (
        format_html(' <small class="interval">{}</small>', write_interval(value.interval, 2)) if value.interval else ""
    )
    mark = format_html(' <small class="mark">{}</small>', value.mark) if value.mark else ""
    return format_html("{}{}{}", write_number(value.value), interval, mark)


@register.filter
def unmarked(value: Figure) -> Figure:
    """A figure without its mark, for a row that shows the mark itself."""
    return value._replace(clusters=None)


@register.filter
def each_out_of(counts: Mapping[str, int], whole: int) -> str:
    """Named counts, each with its share of the whole."""
    return "; ".join(f"{name} {write_out_of(count, whole)}" for name, count in counts.items()) or "none"


@register.filter
def each_count(counts: Mapping[str, int]) -> str:
    """Named counts; a count without a name is written as "not known"."""
    return "; ".join(f"{name or 'not known'}: {count:,}" for name, count in counts.items())


@register.filter
def and_list(parts: Iterable[str]) -> str:
    """As in "a, b and c"."""
    *before, last = list(parts) or ["none"]
    return f"{', '.join(before)} and {last}" if before else last


def _read(value: float | str | None) -> float | None:
    return None if value is None or value == "" else float(value)
