"""The presence table of a study, built from its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.urls import reverse

from transcripts.retrieval.counts import count_answers
from transcripts.themes import evidence, queries
from transcripts.themes.evidence import Viewpoint
from transcripts.themes.models import ThemeVersion
from transcripts.themes.pure.presence import Cell, Heading, Presence, count_presence
from transcripts.themes.pure.presence_chart import Link


def count_themes(viewpoint: Viewpoint, themes: Sequence[ThemeVersion], *, by_interview: bool = False) -> Presence:
    """Where these themes show, by model or by interview."""
    rows = [Heading(str(each.theme.number), each.name, frozenset(each.codes)) for each in themes]
    return _count(viewpoint, rows, _list_columns(viewpoint, by_interview=by_interview))


def count_codes(viewpoint: Viewpoint, codes: Sequence[queries.CodeEntry], *, by_interview: bool = False) -> Presence:
    """Where these codes show, by model or by interview."""
    rows = [Heading(code.identifier, code.name, frozenset({code.identifier})) for code in codes]
    return _count(viewpoint, rows, _list_columns(viewpoint, by_interview=by_interview))


def list_models(viewpoint: Viewpoint, theme: ThemeVersion) -> list[tuple[str, dict[str, int], Cell, str]]:
    """For each model its name, its denominators, the theme's cell and the address of the sentences in it."""
    presence, link = count_themes(viewpoint, [theme]), link_to_sentences(viewpoint)
    [(row, cells, _)] = presence.rows
    return [
        (column.name, out_of, cell, link(row.key, column.key))
        for column, out_of, cell in zip(presence.columns, presence.denominators[:-1], cells, strict=True)
    ]


def link_to_sentences(viewpoint: Viewpoint, *, of_codes: bool = False, by_interview: bool = False) -> Link:
    """How to get from a row and a column to their sentences; an empty column stands for all of them."""
    base = reverse("themes:evidence", args=[viewpoint.project.slug])
    row_name, column_name = ("code" if of_codes else "theme"), ("interview" if by_interview else "model")

    def link(row: str, column: str) -> str:
        asked = {row_name: row, column_name: column, "coder": viewpoint.coder, "layer": viewpoint.layer.value}
        return f"{base}?{urlencode({name: value for name, value in asked.items() if value})}"

    return link


def _list_columns(viewpoint: Viewpoint, *, by_interview: bool) -> list[Heading]:
    return evidence.list_interviews(viewpoint) if by_interview else evidence.list_models(viewpoint)


def _count(viewpoint: Viewpoint, rows: Sequence[Heading], columns: Sequence[Heading]) -> Presence:
    identifiers = {identifier for row in rows for identifier in row.members}
    return count_presence(
        rows=rows,
        columns=columns,
        evidence=evidence.read_evidence(viewpoint, identifiers),
        decided=evidence.count_decided(viewpoint, identifiers),
        said=count_answers(viewpoint.project, viewpoint.visibility),
    )
