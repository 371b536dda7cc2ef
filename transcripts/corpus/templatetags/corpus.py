"""Texts of interviews with their Markdown, and notes about interviews that a page leaves out: ``{% load corpus %}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.template.context import RequestContext
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from transcripts.corpus.models import Standing
from transcripts.corpus.pure.markdown_html import write_passage
from transcripts.corpus.pure.previews import TEXT
from transcripts.corpus.queries import count_left_out
from transcripts.formats.interviews import speaker_text
from transcripts.formats.text_input import mark_unseen

register = template.Library()
# Rooms whose pages have no figure, list or choice of interviews, each with its pages that do.
ELSEWHERE = {"accounts", "batches", "codebook", "gender_cues", "jobs", "llm", "scenarios", "sob", "studies", "webhooks"}
BUT = {"studies:home", "scenarios:run"}
# Pages of other rooms that have none either: forms, keys, and pages about one interview or none.
NONE_THERE = {
    *("desk:keys", "desk:keycard"),
    *("corpus:import", "corpus:interview_consent", "corpus:redaction"),
    *("exchange:import", "notebook:new"),
    *("negotiation:case_sheet", "negotiation:thread", "negotiation:thread_scores"),
    *("negotiation:stances", "negotiation:new_stance", "negotiation:next_stance"),
    *("themes:new", "themes:edit", "themes:phases", "themes:positionality"),
}


@register.simple_tag
def passage(before: str, text: str, after: str) -> dict[str, SafeString]:
    """Words of a turn, and the text before and after them, with Markdown as at the desk and line breaks."""
    parts = write_passage(before + text + after, len(before), len(before) + len(text))
    names = ("before", "text", "after")
    return {name: mark_safe(mark_unseen(part)) for name, part in zip(names, parts, strict=True)}  # noqa: S308 - escaped there


@register.filter
def unseen(text: str) -> SafeString:
    """Imported text with a badge on each invisible character that could have an effect: ``{{ turn.text|unseen }}``."""
    return mark_safe(mark_unseen(conditional_escape(text)))  # noqa: S308 - escaped here


@register.filter
def is_guess(warning: str) -> bool:
    """Whether a warning of an import is only about recognised speakers, for whom the form has fields."""
    return speaker_text.is_guess(warning)


@register.filter
def with_choices(preview: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The preview of a file with the choices made since, for a form: ``{{ preview|with_choices:options }}``."""
    roles, titles = options.get("roles") or {}, options.get("titles") or {}
    speakers, left_out = options.get("speakers") or [], options.get("leave_out") or []
    named = [
        *preview["speakers"],
        # Names that a person marked as text, so that she can undo it.
        *({**each, "role": ""} for each in preview["read_as_text"] if roles.get(each["name"]) == TEXT),
    ]
    return {
        **preview,
        "speakers": [
            {**each, "chosen": roles.get(each["name"]) or each["role"], "is_ticked": each["name"] in speakers}
            for each in named
        ],
        "read_as_text": [each for each in preview["read_as_text"] if roles.get(each["name"]) != TEXT],
        "listed": [
            {**each, "is_left_out": each["id"] in left_out, "chosen_title": titles.get(each["id"], "")}
            for each in preview["listed"]
        ],
    }


@register.simple_tag(takes_context=True)
def left_out_note(context: RequestContext) -> SafeString:
    """One line that says how many archived or excluded interviews this page leaves out; empty if there are none."""
    study, role = context.get("study"), context.get("role")
    match = getattr(context.get("request"), "resolver_match", None)
    if not study or not role or match is None:
        return SafeString()
    if match.view_name in NONE_THERE or (match.view_name not in BUT and ELSEWHERE & set(match.namespaces)):
        return SafeString()
    counts = count_left_out(study)
    parts = [
        f"{counts[each]} {each.label.lower()}" for each in (Standing.ARCHIVED, Standing.EXCLUDED) if counts.get(each)
    ]
    if not parts:
        return SafeString()
    are = "interview is" if sum(counts.values()) == 1 else "interviews are"
    return format_html(
        '<p class="quiet left-out">{} {} left out of this page. <a href="{}">Show them</a></p>',
        " and ".join(parts),
        are,
        reverse("corpus:archive", args=[study.slug]),
    )
