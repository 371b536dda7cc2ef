"""Numbers as people read them, on pages, in charts, LaTeX and terminals: rounded, never cut, with a proper minus.

Files and the API have the numbers themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from transcripts.statistics.figures import Figure

NONE = "–"
"""Stands where there is no number."""
MINUS = "−"
_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)


def write_number(value: float | None, digits: int = 2) -> str:
    """The number with that many decimals, a half rounded up as Django's ``floatformat`` does; a dash where it is not defined.

    Never a negative nought.
    """
    if value is None:
        return NONE
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), context=_CONTEXT)
    return f"{rounded or abs(rounded):f}".replace("-", MINUS)


def write_signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign and that many decimals; a dash where it is not defined. Nought has no sign."""
    text = write_number(value, digits)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def write_interval(ends: Sequence[float] | None, digits: int = 3) -> str:
    """The ends of an interval, as in “0.165 to 0.356”; a dash where there is none."""
    return " to ".join(write_number(end, digits) for end in ends) if ends else NONE


def write_estimate(value: float | None, interval: Sequence[float] | None, digits: int = 3) -> str:
    """A figure with its interval in brackets, as in “0.250 [0.165, 0.356]”; without the brackets where there is none."""
    text = write_number(value, digits)
    return f"{text} [{', '.join(write_number(end, digits) for end in interval)}]" if interval else text


def write_figure(figure: Figure) -> str:
    """A figure with its interval and its mark as charts print it, as in “0.82, 0.60 to 0.90, rough”, or why there is none."""
    if figure.value is None:
        return str(figure.reason)
    interval = [write_interval(figure.interval, 2)] if figure.interval else []
    return ", ".join([write_number(figure.value), *interval, *filter(None, [figure.mark])])


def write_p(value: float | None) -> str:
    """A P value with three decimals, or that it is below what they show; a dash where there is none."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else write_number(value, 3)


def write_percent(share: float | None, digits: int = 1) -> str:
    """A share from 0 to 1 in per cent; a dash where it is not defined."""
    return NONE if share is None else f"{write_number(100 * share, digits)} %"


def write_percent_interval(ends: Sequence[float] | None, digits: int = 1) -> str:
    """Both ends of an interval of a share, in per cent; a dash where there is none."""
    return f"{write_interval([100 * end for end in ends], digits)} %" if ends else NONE


def write_points(difference: float | None) -> str:
    """A difference of two shares in points of per cent; a dash where it is not defined."""
    return NONE if difference is None else f"{write_signed(100 * difference, 1)} points"


def write_out_of(part: int, whole: int) -> str:
    """As in “12 of 160 (7.5 %)”; “0 of 0” without a share."""
    percent = f" ({write_percent(part / whole)})" if whole else ""
    return f"{part:,} of {whole:,}{percent}"


def round_percent(part: int, whole: int, *, of_nothing: int = 0) -> int:
    """``part`` of ``whole`` in whole per cent, a half rounded up; 100 only where it is all, so that nobody takes 551 of 552 for
    the end. static/js/desk/code_panel.js counts by the same rule."""
    if not whole:
        return of_nothing
    return min((200 * part + whole) // (2 * whole), 100 if part >= whole else 99)
