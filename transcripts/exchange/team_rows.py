"""Rows of how a team works and of what it makes of codes: rounds, adjudications, themes, entries of the phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Q, QuerySet

from transcripts.agreement.models import Adjudication
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.codebook.models import CodeProposal
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, columns, find_place, find_places, label_sentences, quote_sentences, stream
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import MethodStance

STANCES = columns(MethodStance, "project family stance reason set set_by")

ROUNDS = columns(
    Round,
    "project round name instructions overlap_percent overlap_readers seed opened opened_by locked locked_by",
    round="number",
)

ASSIGNMENTS = columns(
    Assignment,
    "project round interview model coder assigned assigned_by signed withdrawn",
    project="round__project__slug",
    round="round__number",
    model="interview__model_label",
)

ADJUDICATIONS = columns(
    Adjudication,
    f"{PLACE} text family readings outcome chosen_coder codes reason adjudicator revision created withdrawn superseded_by "
    "adjudication_id",
    find_place(),
)

ANCHORS = columns(AnchorSentence, f"{PLACE} text added added_by removed", find_place())

ANCHOR_READINGS = columns(
    AnchorReading, f"{PLACE} codebook_version coder codes read", find_place(), codebook_version="version__number"
)

PROPOSALS = columns(
    CodeProposal,
    "project name definition family interview sentence_id sentence_label in_vivo proposed_by proposed state code_id answer "
    "answered answered_by",
    interview="sentence__turn__interview__external_id",
    sentence_label="label",
    in_vivo="is_in_vivo",
    code_id=("code__identifier", "The code it became."),
)
THEMES = columns(
    ThemeVersion,
    "project theme version name concept description state codes reason written written_by came_from",
    project="theme__project__slug",
    theme="theme__number",
    version=("number", "Which version of the theme, from 1; the highest is current."),
    came_from=("theme_id", "Numbers of the themes it was merged or split from."),
)

THEME_QUOTES = columns(
    ThemeQuote,
    f"{PLACE} model start end text theme side edited_text note coding_id added added_by withdrawn quote_id may_be_quoted",
    find_place(),
    theme="theme__number",
    quote_id="pk",
    may_be_quoted=(
        "",
        "true where the interview's consent to quotation is given; otherwise text and edited_text are empty.",
    ),
)

PHASE_ENTRIES = columns(PhaseEntry, "project phase text author written withdrawn superseded_by entry_id", entry_id="pk")

POSITIONALITY = columns(PositionalityStatement, "project author text written")


def read_stances(scope: Scope) -> Iterator[Sequence[object]]:
    """Every switch of the method."""
    return stream(MethodStance.objects.filter(project=scope.project).order_by("pk"), STANCES)


def read_rounds(scope: Scope) -> Iterator[Sequence[object]]:
    """Every round."""
    return stream(Round.objects.filter(project=scope.project).order_by("number"), ROUNDS)


def read_assignments(scope: Scope) -> Iterator[Sequence[object]]:
    """Who was to code what, withdrawn assignments included."""
    assignments = scope.keep(Assignment.objects.filter(scope.within("interview")), "coder")
    return stream(assignments.order_by("pk"), ASSIGNMENTS)


def read_adjudications(scope: Scope) -> Iterator[Sequence[object]]:
    """Every decision on differing readings, with those readings; later ones supersede earlier."""
    adjudications = Adjudication.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(adjudications)).order_by("pk"), ADJUDICATIONS)


def read_anchors(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences that anchor meaning, removed ones included."""
    anchors = AnchorSentence.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(anchors)).order_by("pk"), ANCHORS)


def read_anchor_readings(scope: Scope) -> Iterator[Sequence[object]]:
    """What was read in them under which codebook version."""
    readings = scope.keep(AnchorReading.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(readings).order_by("pk"), ANCHOR_READINGS)


def read_proposals(scope: Scope) -> Iterator[Sequence[object]]:
    """Codes that were proposed, and what was answered."""
    proposals = scope.keep(CodeProposal.objects.filter(project=scope.project), "proposed_by")
    proposals = proposals.filter(Q(sentence__isnull=True) | scope.within("sentence__turn__interview"))
    return stream(label_sentences(proposals).order_by("pk"), PROPOSALS)


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
