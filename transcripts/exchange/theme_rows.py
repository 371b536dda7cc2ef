"""Rows of what is made of codes: themes, their quotes, the entries of the phases, and who is reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import label_sentences, place_columns, quote_sentences, stream
from transcripts.themes.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion

THEMES = {
    "project": "theme__project__slug",
    "theme": "theme__number",
    "version": "number",
    "name": "name",
    "concept": "concept",
    "description": "description",
    "state": "state",
    "codes": "codes",
    "reason": "reason",
    "written": "written_at",
    "written_by": "written_by__username",
    "came_from": "theme_id",
}

THEME_QUOTES = {
    **place_columns(),
    "model": "sentence__turn__interview__model_label",
    "start": "sentence__start",
    "end": "sentence__end",
    "text": "quoted",
    "theme": "theme__number",
    "side": "side",
    "edited_text": "edited_text",
    "note": "note",
    "coding_id": "coding_id",
    "added": "added_at",
    "added_by": "added_by__username",
    "withdrawn": "withdrawn_at",
    "quote_id": "pk",
}

PHASE_ENTRIES = {
    "project": "project__slug",
    "phase": "phase",
    "text": "text",
    "author": "author__username",
    "written": "written_at",
    "withdrawn": "withdrawn_at",
    "superseded_by": "superseded_by_id",
    "entry_id": "pk",
}

POSITIONALITY = {
    "project": "project__slug",
    "author": "author__username",
    "text": "text",
    "written": "written_at",
}


def read_themes(scope: Scope) -> Iterator[Sequence[object]]:
    """Every version of every theme, with the numbers of the themes it was merged or split from.

    A blind coder does not get the reasons, which tell how her colleagues read.
    """
    origins: dict[int, list[int]] = {}
    merged = Theme.objects.filter(project=scope.project, came_from__isnull=False)
    for theme, number in merged.order_by("came_from__number").values_list("pk", "came_from__number"):
        origins.setdefault(theme, []).append(number)
    versions = ThemeVersion.objects.filter(theme__project=scope.project).order_by("theme__number", "number")
    reason = list(THEMES).index("reason")
    for *cells, theme_id in stream(versions, THEMES):
        if scope.only is not None:
            cells[reason] = ""
        yield [*cells, origins.get(int(str(theme_id)), [])]


def read_theme_quotes(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences for and against each theme: their exact text, and the quotation with its edits marked."""
    quotes = ThemeQuote.objects.filter(theme__project=scope.project)
    return stream(quote_sentences(label_sentences(quotes)).order_by("theme__number", "pk"), THEME_QUOTES)


def read_phase_entries(scope: Scope) -> Iterator[Sequence[object]]:
    """What was made in which phase, former texts included."""
    entries = PhaseEntry.objects.filter(project=scope.project)
    if scope.only is not None:
        entries = entries.filter(author=scope.only)
    return stream(entries.order_by("pk"), PHASE_ENTRIES)


def read_positionality(scope: Scope) -> Iterator[Sequence[object]]:
    """The statements that stand; one that was taken back is nobody else's any more."""
    statements = PositionalityStatement.objects.filter(project=scope.project, withdrawn_at__isnull=True)
    if scope.only is not None:
        statements = statements.filter(author=scope.only)
    return stream(statements.order_by("pk"), POSITIONALITY)
