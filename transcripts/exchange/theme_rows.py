"""Rows of what is made of codes: themes, their quotes, the entries of the phases, and who is reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, columns, find_place, find_places, label_sentences, quote_sentences, stream
from transcripts.themes.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion

THEMES = columns(
    ThemeVersion,
    "project theme version name concept description state codes reason written written_by came_from",
    project="theme__project__slug",
    theme="theme__number",
    version=("number", "Which version of the theme, from 1; the highest is current."),
    written="written_at",
    written_by="written_by__username",
    came_from=("theme_id", "Numbers of the themes it was merged or split from."),
)

THEME_QUOTES = columns(
    ThemeQuote,
    f"{PLACE} model start end text theme side edited_text note coding_id added added_by withdrawn quote_id may_be_quoted",
    **find_place(),
    model="sentence__turn__interview__model_label",
    start="sentence__start",
    end="sentence__end",
    text="quoted",
    theme="theme__number",
    added="added_at",
    added_by="added_by__username",
    withdrawn="withdrawn_at",
    quote_id="pk",
    may_be_quoted=(
        "",
        "true where the interview's consent to quotation is given; otherwise text and edited_text are empty.",
    ),
)

PHASE_ENTRIES = columns(
    PhaseEntry,
    "project phase text author written withdrawn superseded_by entry_id",
    project="project__slug",
    author="author__username",
    written="written_at",
    withdrawn="withdrawn_at",
    entry_id="pk",
)

POSITIONALITY = columns(
    PositionalityStatement,
    "project author text written",
    project="project__slug",
    author="author__username",
    written="written_at",
)


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
