"""Small things every page writes the same way: ``{% load ui %}``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, cast

from django import forms, template
from django.forms import BoundField
from django.template.context import RequestContext
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from transcripts.ui.navigation import Bar, build_bar, find_help, find_introduction

register = template.Library()


@register.filter
def may_be_left(field: BoundField) -> bool:
    """Whether a label should say that its field can be left empty: not where a choice is selected from the start."""
    kind = field.field
    if kind.required:
        return False
    if not isinstance(kind, forms.ChoiceField) or isinstance(kind, forms.MultipleChoiceField):
        return True
    return not field.initial or "" in dict(cast("Iterable[tuple[object, object]]", kind.choices))


@register.simple_tag(takes_context=True)
def study_bar(context: RequestContext) -> Bar:
    """The bar of the study this page belongs to; empty on pages of no study."""
    study, role = context.get("study"), context.get("role")
    # Pages that report a failure are made without a request.
    match = getattr(context.get("request"), "resolver_match", None)
    if not study or not role or match is None:
        return Bar()
    return build_bar(
        study.slug,
        view_name=match.view_name,
        permissions=role.permissions,
        of=match.kwargs,
        lies_in=context.get("lies_in") or "",
    )


@register.filter
def get(found: Mapping[Any, Any], key: object) -> Any:
    """What a mapping holds under a key, or nothing."""
    return found.get(key)


@register.simple_tag(takes_context=True)
def help_address(context: RequestContext) -> str:
    """The address of the help for this page."""
    match = getattr(context.get("request"), "resolver_match", None)
    return find_help(match.view_name if match else "")


@register.simple_tag(takes_context=True)
def introduction(context: RequestContext) -> str:
    """The introduction of this page of a study, until its reader dismisses it; "" otherwise."""
    request, role = context.get("request"), context.get("role")
    match = getattr(request, "resolver_match", None)
    if request is None or match is None or not role or match.view_name in request.user.known_pages:
        return ""
    return find_introduction(match.view_name, role.permissions)


@register.filter
def moment(at: datetime.datetime | None) -> SafeString | str:
    """A time to the minute in the site's time zone, with the exact time for machines; a dash for no time."""
    if at is None:
        return "–"
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), date_format(local, "j M Y, H:i T"))
