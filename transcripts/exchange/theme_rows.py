"""Rows of what is made of codes: themes, their quotes, the entries of the phases, and who is reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, column, find_places, label_sentences, quote_sentences, stream
from transcripts.themes.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion

THEMES = [
    column("project", "theme__project__slug"),
    column("theme", "theme__number", "Number of the theme in the study."),
    column("version", "number", "Which version of the theme, from 1; the highest is current."),
    column("name", "name"),
    column("concept", "concept", "The one idea that holds the theme together."),
    column("description", "description", "What it is about."),
    column("state", "state", "candidate, reviewed, defined or dropped."),
    column("codes", "codes", "Identifiers of the codes it is made of."),
    column("reason", "reason"),
    column("written", "written_at"),
    column("written_by", "written_by__username", "Who wrote this version."),
    column("came_from", "theme_id", "Numbers of the themes it was merged or split from."),
]

THEME_QUOTES = [
    *PLACE,
    column("model", "sentence__turn__interview__model_label"),
    column("start", "sentence__start"),
    column("end", "sentence__end"),
    column("text", "quoted"),
    column("theme", "theme__number", "Number of the theme in the study."),
    column("side", "side", "for, or against: a sentence that contradicts the theme."),
    column("edited_text", "edited_text", "The quotation with its edits marked; empty where it is the exact words."),
    column("note", "note"),
    column("coding_id", "coding_id"),
    column("added", "added_at", "When, in UTC."),
    column("added_by", "added_by__username", "Who chose it."),
    column("withdrawn", "withdrawn_at"),
    column("quote_id", "pk", "Number of the quote."),
    column(
        "may_be_quoted",
        meaning="true where the interview's consent to quotation is given; otherwise text and edited_text are empty.",
        kind=bool,
    ),
]

PHASE_ENTRIES = [
    column("project", "project__slug"),
    column(
        "phase",
        "phase",
        "1 familiarisation, 2 initial coding, 3 generating, 4 reviewing, 5 defining themes, 6 writing up.",
    ),
    column("text", "text", "What was written down."),
    column("author", "author__username"),
    column("written", "written_at"),
    column("withdrawn", "withdrawn_at"),
    column("superseded_by", "superseded_by_id"),
    column("entry_id", "pk", "Number of the entry."),
]

POSITIONALITY = [
    column("project", "project__slug"),
    column("author", "author__username"),
    column("text", "text", "The statement, in its author's words."),
    column("written", "written_at"),
]


def read_themes(scope: Scope) -> Iterator[Sequence[object]]:
    """Every version of every theme, with the numbers of the themes it was merged or split from.

    A blind coder does not get the reasons, which reveal how her colleagues read.
    """
    origins: dict[int, list[int]] = {}
    merged = Theme.objects.filter(project=scope.project, came_from__isnull=False)
    for theme, number in merged.order_by("came_from__number").values_list("pk", "came_from__number"):
        origins.setdefault(theme, []).append(number)
    versions = ThemeVersion.objects.filter(theme__project=scope.project).order_by("theme__number", "number")
    [reason] = find_places(THEMES, "reason")
    for *cells, theme_id in stream(versions, THEMES):
        if scope.only is not None:
            cells[reason] = ""
        yield [*cells, origins.get(int(str(theme_id)), [])]


def read_theme_quotes(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences for and against each theme: their exact text, and the quotation with its edits marked; of interviews
    that may not be quoted only where they stand."""
    allowed = list_consenting(find_quoted(scope), Consent.Scope.QUOTATION)
    stored = [each if each.source else each._replace(source="sentence__turn__interview_id") for each in THEME_QUOTES]
    words = find_places(THEME_QUOTES, "text", "edited_text")
    quotes = quote_sentences(label_sentences(_find_quotes(scope)))
    for *cells, interview in stream(quotes.order_by("theme__number", "pk"), stored):
        may_be_quoted = interview in allowed
        if not may_be_quoted:
            for place in words:
                cells[place] = ""
        yield [*cells, may_be_quoted]


def find_quoted(scope: Scope) -> set[int]:
    """The interviews of which there are quotes."""
    return set(_find_quotes(scope).order_by().values_list("sentence__turn__interview", flat=True))


def _find_quotes(scope: Scope) -> QuerySet[ThemeQuote]:
    return ThemeQuote.objects.filter(scope.within("sentence__turn__interview"))


def read_phase_entries(scope: Scope) -> Iterator[Sequence[object]]:
    """What was made in which phase, former texts included."""
    entries = scope.keep(PhaseEntry.objects.filter(project=scope.project), "author")
    return stream(entries.order_by("pk"), PHASE_ENTRIES)


def read_positionality(scope: Scope) -> Iterator[Sequence[object]]:
    """The active statements; a withdrawn one is no longer shown to others."""
    statements = scope.keep(
        PositionalityStatement.objects.filter(project=scope.project, withdrawn_at__isnull=True), "author"
    )
    return stream(statements.order_by("pk"), POSITIONALITY)
