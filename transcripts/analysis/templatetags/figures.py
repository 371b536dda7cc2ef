"""How pages of counts write figures: ``{% load figures %}``."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from transcripts.analysis.search.pure.score_sheet import SheetCell, SheetRow

register = template.Library()


@register.filter
def first_word(words: str) -> str:
    """The figure with which a count in words begins."""
    return words.partition(" ")[0]


@register.simple_tag
def sheet_query(queries: Mapping[tuple[str, int], str], row: SheetRow, cell: SheetCell) -> str:
    """The query of the search for the sentences behind a cell of a score sheet."""
    return queries[row.heading.identifier, cell.turn]
