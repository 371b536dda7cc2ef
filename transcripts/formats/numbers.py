"""Numbers as tables, pages and terminals print them."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "–"
"""Stands where there is no number."""


def write_number(value: float | None, digits: int = 2) -> str:
    """The number with so many decimals; a dash where it is not defined. Never a negative nought."""
    if value is None:
        return NONE
    text = f"{value:.{digits}f}"
    return "0." + "0" * digits if text.startswith("-") and not float(text) else text


def round_percent(part: int, whole: int, *, of_nothing: int = 0) -> int:
    """``part`` of ``whole`` in whole per cent, a half rounded up; 100 only where it is all, so that nobody takes 551 of 552 for
    the end. static/js/desk/panel.js counts by the same rule."""
    if not whole:
        return of_nothing
    return min((200 * part + whole) // (2 * whole), 100 if part >= whole else 99)


def write_signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign and so many decimals; a dash where it is not defined. Nought has no minus."""
    text = write_number(value, digits)
    return text if value is None or text.startswith("-") else f"+{text}"


def write_interval(ends: Sequence[float] | None, digits: int = 3) -> str:
    """The ends of an interval, as in “0.165 to 0.356”; a dash where there is none."""
    return " to ".join(write_number(end, digits) for end in ends) if ends else NONE


def write_estimate(value: float | None, interval: Sequence[float] | None, digits: int = 3) -> str:
    """A figure with its interval in brackets, as in “0.250 [0.165, 0.356]”; without the brackets where there is none."""
    text = write_number(value, digits)
    return f"{text} [{', '.join(write_number(end, digits) for end in interval)}]" if interval else text


def write_p(value: float | None) -> str:
    """A P value with three decimals, or that it is below what they show; a dash where there is none."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
