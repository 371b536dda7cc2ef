from __future__ import annotations

from django import template

from auditapp.probe.pure.listing import write_share

register = template.Library()

register.filter("share", write_share)
