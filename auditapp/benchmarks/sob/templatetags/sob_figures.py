"""How pages of the benchmark write figures: ``{% load sob_figures %}``."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from auditapp.benchmarks.sob.pure.cautions import FEW_SENTENCE, describe_readers, list_marks, mark_few
from auditapp.benchmarks.sob.pure.figures import Score, in_words
from transcripts.statistics.figures import FEW, wilson_interval

register = template.Library()

register.filter("task_name", in_words)


@register.filter
def usable(cell: Any) -> str:
    """The denominator of a cell, and below it how many of these answers were read by a model or a person."""
    if not cell:
        return "–"
    readers = describe_readers(cell)
    return format_html("{}{}", f"{cell['n_nonrefused']:,}", _write_below(readers))


def _write_below(words: str) -> SafeString:
    return format_html('<span class="under">{}</span>', words) if words else SafeString("")


@register.filter
def few_mark(n: int | str | None, texts: int | str | None) -> str:
    """``mark_few`` as HTML; "" without a count of texts."""
    if texts is None or texts == "" or not (mark := mark_few(int(n or 0), int(texts))):
        return ""
    return format_html(
        '<span aria-hidden="true">{}</span><span class="visually-hidden"> (fewer than {} texts)</span>', mark, FEW
    )


@register.simple_tag
def few_sentence() -> str:
    """What the mark for few texts means."""
    return FEW_SENTENCE


@register.filter
def marks(cell: Any) -> SafeString:
    """The marks of a cell's score, or of a ``Score``, each with its meaning as text for screen readers."""
    written = '<span aria-hidden="true">{}</span><span class="visually-hidden"> ({})</span>'
    found = cell.marks if isinstance(cell, Score) else list_marks(cell) if cell else []
    return format_html_join("", written, found)


@register.filter
def no_width(n: int | str) -> str:
    """The note below an interval of zero width: what it means for this number of texts (``cautions.explain_no_width``)."""
    bound = wilson_interval(0, int(n or 0))
    highest = 100 * (bound.high if bound else 1.0)
    return _write_below(f"all {int(n or 0):,} texts alike; up to {highest:.0f} % of such texts could differ")
