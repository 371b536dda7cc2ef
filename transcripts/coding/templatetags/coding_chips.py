"""Codings as chips: ``{% load coding_chips %}``.

Written without a template: a page may hold thousands of them, and a template takes twenty times as long. Everything
that somebody typed goes through ``escape``.
"""

from __future__ import annotations

from collections.abc import Iterator

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString

from transcripts.coding.marks import Chip, Marks
from transcripts.coding.values import CHOICE_FIELDS

register = template.Library()
PROMPTING_WORDS = {"prompted": "prompted", "unprompted": "unprompted", "unclear": "prompting unclear"}


@register.simple_tag
def write_chips(marks: Marks, codings_url: str, writable: object) -> SafeString:
    """The codings at one place; with the buttons and links of one's own where coding is open to her."""
    after = "after suggestions" if marks.is_revealed else "after others’ labels"
    return SafeString("".join(_write_chip(chip, codings_url, after, is_open=bool(writable)) for chip in marks.chips))


def _write_chip(chip: Chip, codings_url: str, after: str, *, is_open: bool) -> str:
    name = f'<b data-cap="{escape(chip.key)}">{escape(chip.sign)}</b><bdi>{escape(chip.name)}</bdi>'
    words = "".join(_write_words(chip, after))
    lines = "".join(_write_lines(chip))
    quote = f'<q class="quote"><bdi>{escape(chip.quote)}</bdi></q>' if chip.quote else ""
    kinds = (
        f"chip family-{escape(chip.family)}{' latent' if chip.is_latent else ''}{' changed' if chip.is_changed else ''}"
    )
    if chip.coder:
        by = f' <span class="by"><bdi>{escape(chip.coder)}</bdi></span>'
        return f'<li class="{kinds}">{name}{words}{quote}{by}{lines}</li>'
    data = "".join(_write_data(chip))
    if not is_open:
        return f'<li class="{kinds} own"{data}>{name}{words}{quote}{lines}</li>'
    link = f'<a class="open-details" href="{codings_url}{chip.client_id}/">{name}<span class="vh"> details</span></a>'
    remove = (
        f'<button class="remove" name="coding" value="{chip.client_id}"'
        f' aria-label="Take off {escape(chip.name)}">×</button>'
    )
    return f'<li class="{kinds} own open"{data}>{link}{words}{quote}{remove}{lines}</li>'


def _write_data(chip: Chip) -> Iterator[str]:
    """What the page's script reads again."""
    yield f' data-coding="{chip.client_id}" data-code="{escape(chip.identifier)}" data-version="{chip.version}"'
    for name in CHOICE_FIELDS:
        if value := getattr(chip, name):
            yield f' data-{name}="{value}"'
    if chip.attributes:
        yield f' data-attributes="{escape(chip.attributes_json)}"'
    if chip.range_id:
        yield f' data-range="{chip.range_id}"'
    if chip.quote:
        yield f' data-quote-at="{chip.quote_at}"'


def _write_words(chip: Chip, after: str) -> Iterator[str]:
    """How the code was put, behind its name."""
    said = ("latent" if chip.is_latent else "", chip.enactment, chip.grounding)
    yield from (f" <i>{word}</i>" for word in said if word)
    if chip.prompting or chip.derived == "prompted":
        yield f' <i class="raised">{PROMPTING_WORDS[chip.raised]}</i>'
    if chip.range_id:
        yield ' <i class="range">range</i>'
    if chip.is_assisted:
        yield f" <i>{after}</i>"


def _write_lines(chip: Chip) -> Iterator[str]:
    """What a coding says in whole lines: how it is read, its answers, the reason it was put."""
    if chip.note:
        yield f'<q class="reading"><bdi>{escape(chip.note)}</bdi></q>'
    if chip.attributes:
        yield f'<span class="answers"><bdi>{escape(chip.answers)}</bdi></span>'
    if chip.reason and chip.reason != "suggestion":
        yield f'<span class="why"><span class="vh">Reason: </span><bdi>{escape(chip.reason)}</bdi></span>'
