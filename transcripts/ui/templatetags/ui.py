"""Small things every page writes the same way: ``{% load ui %}``."""

from __future__ import annotations

import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def moment(at: datetime.datetime | None) -> SafeString | str:
    """A time to the minute in the site's time zone, with the exact one for machines; a dash for none."""
    if at is None:
        return "–"
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), date_format(local, "j M Y, H:i T"))
