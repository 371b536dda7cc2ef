"""How pages of batches write figures: ``{% load batch_figures %}``."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Literal

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.batches.kinds import NO_ROOM, NOT_STORABLE
from auditapp.batches.ledger.claims import NO_INPUT, NOT_WRITTEN
from auditapp.batches.models import Attempt
from auditapp.batches.pure.estimates import to_dollars, write_dollars

register = template.Library()
# Outcomes of the engine itself. Texts that may not be sent lack a consent, or have been retired.
OUTCOMES = {
    NO_INPUT: "not asked: the text may not be sent",
    NOT_WRITTEN: "not asked: its message could not be written",
    NOT_STORABLE: "answer could not be stored",
    NO_ROOM: "empty: output limit used up",
}


@register.filter
def usd(amount: Decimal | Literal[""] | None) -> str:
    """US dollars; a dash if not known."""
    return write_dollars(amount)


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
    """A stored name in readable form: ``off_format`` becomes "off format". The identifier of a code, which has a dot, stays as it
    is."""
    return name if "." in name else name.replace("_", " ")


@register.filter
def outcome_words(name: str) -> str:
    """An outcome in readable form: the engine's outcomes in words, those of a kind by their names."""
    return OUTCOMES.get(name) or in_words(name)


@register.filter
def clock(at: datetime.datetime | None, places: str = "") -> SafeString | str:
    """The time of day, with its date unless it is today; a dash for none. ``clock:"seconds"`` shows seconds."""
    if at is None:
        return "–"
    local = timezone.localtime(at)
    shape = "H:i:s" if places == "seconds" else "H:i"
    if local.date() != timezone.localdate():
        shape = f"j M Y, {shape}"
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), date_format(local, shape))


@register.filter
def exact_moment(at: datetime.datetime | None) -> SafeString | str:
    """The day, the time to the second and the time zone; a dash for none."""
    if at is None:
        return "–"
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), date_format(local, "j M Y, H:i:s T"))


@register.filter
def mean_usd(nano: float | None) -> str:
    """A mean in nanodollars as US dollars."""
    return usd(None if nano is None else Decimal(round(nano)) / 1_000_000_000)


@register.filter
def took(attempt: Attempt) -> str:
    """How long an attempt took, to a tenth of a second; a dash if nothing was sent or if it has not ended."""
    if attempt.sent_at is None or attempt.done_at is None or attempt.end == Attempt.End.CACHED:
        return "–"
    return f"{(attempt.done_at - attempt.sent_at).total_seconds():.1f} s"
