"""How pages of counts write figures: ``{% load figures %}``."""

from __future__ import annotations

from django import template

from transcripts.retrieval.score_sheet import SheetCell, SheetRow
from transcripts.retrieval.tabulating import SheetPage

register = template.Library()


@register.filter
def grouped(count: int) -> str:
    """A whole number with its thousands apart."""
    return f"{count:,}"


@register.filter
def first_word(words: str) -> str:
    """The figure with which a count in words begins."""
    return words.partition(" ")[0]


@register.simple_tag
def sheet_query(page: SheetPage, row: SheetRow, cell: SheetCell) -> str:
    """The address of the sentences behind a cell of a score sheet."""
    return page.query(row.heading, cell)
