"""Rows of coders' work: codings, decisions, reveals and unblindings, memos, and boundary edits."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.search.queries import StudyPrompts
from transcripts.codebook.models import Code, CodeProposal
from transcripts.coding.models import Coding, Decision, Memo, Reveal, StageOpening, Unblinding
from transcripts.coding.queries import read_first_openings, saw_reasoning
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.rows import (
    CHUNK,
    PLACE,
    Scope,
    columns,
    find_place,
    find_places,
    label_sentences,
    quote_sentences,
    stream,
)
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.tabular import MAX_CELL, Groups
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import MethodChoice, Study

# Rows that are completed together; they are in memory at the same time.
GROUP = 500

PROMPTING = (
    "Whether the interviewer had already raised it: prompted, unprompted, or unclear if that is not known; empty if the speaker "
    "is not a model."
)

# Values that are not read with each coding are looked up or derived; see ``complete``.
CODINGS = columns(
    Coding,
    "study interview model turn role sentence_id sentence sentence_label start end text quote_start quote_end quote "
    "code_id code family codebook_version level enactment grounding prompting prompting_source attributes note reason range "
    "coder blinding created withdrawn withdrawal_reason superseded_by coding_id migrated_from stage saw_reasoning",
    find_place(),
    role="sentence__turn__role",
    code_id="code__identifier",
    code="code__name",
    family="code__family__identifier",
    codebook_version="code__version__number",
    prompting=("prompting", PROMPTING),
    range="range_id",
)
HEADINGS = [each.name for each in CODINGS]
_LOOKED_UP = {
    *("study", "interview", "model", "sentence_label", "quote", "code_id", "code", "family", "codebook_version"),
    *("prompting_source", "coder", "stage", "saw_reasoning"),
}
# As text, because making a Python object of each takes longer than the rest of a row.
_AS_TEXT = {
    "attributes": "answers",
    "range_id": "range_text",
    "created_at": "created_text",
    "withdrawn_at": "withdrawn_text",
}
# Read with every coding: its own columns, and the keys for the rest of its row.
STORED = {
    **{each.name: _AS_TEXT.get(each.source, each.source) for each in CODINGS if each.name not in _LOOKED_UP},
    "suffix": "sentence__suffix",
    "code_key": "code_id",
    "coder_key": "coder_id",
    "interview_key": "sentence__turn__interview_id",
    "channel": "sentence__turn__channel",
}

DECISIONS = columns(
    Decision,
    "study interview turn sentence_id sentence sentence_label none_applies coder blinding created withdrawn decision_id",
    find_place(),
)

REVEALS = columns(Reveal, f"{PLACE} coder source revealed", find_place())

UNBLINDINGS = columns(
    Unblinding, "study interview person where unblinded", study="interview__owning_study__slug", person="user__username"
)

MEMOS = columns(
    Memo,
    "study subject subject_key interview sentence_id sentence sentence_label kind text author thread revision created "
    "withdrawn superseded_by memo_id",
    sentence="sentence__position",
    sentence_label="label",
)

BOUNDARY_EDITS = columns(
    Sentence,
    "study interview turn boundary_edit_id kind edited edited_by side sentence_id sentence_label start end text",
    find_place(""),
    # For a sentence that an edit made, these are found by ``made_by``.
    boundary_edit_id="retired_by",
    kind="retired_by__kind",
    edited="retired_by__edited_at",
    edited_by="retired_by__edited_by__username",
    side=("side", "retired: a sentence before the edit; made: one after it."),
)


def count_codings(scope: Scope) -> int:
    """How many rows ``read_codings`` yields."""
    return scope.keep(Coding.objects.filter(sentence__turn__interview__study=scope.study), "coder").count()


def count_decisions(scope: Scope) -> int:
    """How many rows ``read_decisions`` yields."""
    return scope.keep(Decision.objects.filter(sentence__turn__interview__study=scope.study), "coder").count()


def read_codings(scope: Scope) -> Groups:
    """Every coding, including withdrawn ones, with a derived prompting if its coder did not state one."""
    codings = scope.keep(Coding.objects.filter(scope.within("sentence__turn__interview")), "coder")
    plain = codings.annotate(**{text: Cast(field, TextField()) for field, text in _AS_TEXT.items()})
    found = quote_sentences(plain).order_by("pk").values_list(*STORED.values())
    return Groups(complete(found.iterator(chunk_size=GROUP), scope.study))


class _Known(dict[int, tuple[Any, ...]]):
    """Values of rows to which many codings refer, by key; each is looked up once, which takes half the time of joining them."""

    def __init__(self, rows: QuerySet[Any], *fields: str) -> None:
        super().__init__()
        self._rows = rows.order_by().values_list("pk", *fields)

    def find(self, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """The values of each field, in the order of ``keys``."""
        if missing := set(keys) - self.keys():
            self.update((key, values) for key, *values in self._rows.filter(pk__in=missing))
        return zip(*map(self.__getitem__, keys), strict=True)


def complete(rows: Iterable[Sequence[Any]], study: Study) -> Iterator[list[Sequence[object]]]:
    """Columns of ``CODINGS`` from rows of ``STORED``, a group of rows at a time."""
    rows, prompts = iter(rows), StudyPrompts(study)
    interviews = _Known(Interview.objects.all(), "external_id", "model_label")
    codes = _Known(Code.objects.all(), "identifier", "name", "family__identifier", "version__number")
    coders = _Known(User.objects.all(), "username")
    openings = read_first_openings(StageOpening.objects.filter(turn__interview__owning_study=study))
    while group := list(islice(rows, GROUP)):
        cells: dict[str, Sequence[Any]] = dict(zip(STORED, zip(*group, strict=True), strict=True))
        cells["study"] = [study.slug] * len(group)
        cells["interview"], cells["model"] = interviews.find(cells["interview_key"])
        cells["code_id"], cells["code"], cells["family"], cells["codebook_version"] = codes.find(cells["code_key"])
        [cells["coder"]] = coders.find(cells["coder_key"])
        cells["sentence_label"] = list(map("{}{}".format, cells["sentence"], cells["suffix"]))
        cells["quote"] = _cut_quotes(cells)
        cells["attributes"] = [show_answers(each) if each != "{}" else "" for each in cells["attributes"]]
        cells["range"] = [str(UUID(each)) if each else "" for each in cells["range"]]
        cells["created"] = list(map(_read_moment, cells["created"]))
        cells["withdrawn"] = [_read_moment(each) if each else None for each in cells["withdrawn"]]
        cells["stage"] = [find_stage(*place) or "" for place in zip(cells["role"], cells["channel"], strict=True)]
        cells["saw_reasoning"] = [
            saw_reasoning(openings, (coder, interview), created)
            for interview, coder, created in zip(
                cells["interview_key"], cells["coder_key"], cells["created"], strict=True
            )
        ]
        said, places = cells["prompting"], ("interview_key", "coder_key", "code_id", "role", "turn")
        derived = list(map(prompts.derive, *(cells[name] for name in places)))
        cells["prompting"] = [own or found for own, found in zip(said, derived, strict=True)]
        cells["prompting_source"] = [
            "said" if own else found and "derived" for own, found in zip(said, derived, strict=True)
        ]
        yield [cells[name] for name in HEADINGS]


def _cut_quotes(cells: Mapping[str, Sequence[Any]]) -> list[str]:
    places = (cells[name] for name in ("text", "start", "quote_start", "quote_end"))
    return [
        text[first - start : behind - start] if behind else ""
        for text, start, first, behind in zip(*places, strict=True)
    ]


def _read_moment(stored: str) -> datetime:
    """Read a time from a database: PostgreSQL writes the zone, SQLite does not; both use UTC."""
    return datetime.fromisoformat(stored if "+" in stored else stored + "+00:00")


def show_answers(stored: str) -> str:
    """The answers to a code's own questions as JSON text, the same from every database."""
    return json.dumps(json.loads(stored), ensure_ascii=False, sort_keys=True)


def read_decisions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every "read; nothing more here", with whether no code applied."""
    decisions = scope.keep(Decision.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(decisions).order_by("pk"), DECISIONS)


def read_reveals(scope: Scope) -> Iterator[Sequence[object]]:
    """When each person first saw others' labels for a sentence."""
    reveals = scope.keep(Reveal.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(reveals).order_by("pk"), REVEALS)


def read_unblindings(scope: Scope) -> Iterator[Sequence[object]]:
    """Who unblinded which interview, and when."""
    unblindings = scope.keep(Unblinding.objects.filter(scope.within("interview")), "user")
    return stream(unblindings.order_by("pk"), UNBLINDINGS)


def read_memos(scope: Scope) -> Iterator[Sequence[object]]:
    """Memos, including earlier texts."""
    memos = scope.keep(Memo.objects.filter(study=scope.study), "author")
    memos = memos.filter(Q(interview__isnull=True) | scope.within("interview"))
    return stream(label_sentences(memos).order_by("pk"), MEMOS)


def read_boundary_edits(scope: Scope) -> Iterator[Sequence[object]]:
    """Splits and merges: a row for each sentence that was retired and each that was made."""
    return merge(
        *(_read_side(scope, side) for side in ("retired", "made")),
        key=itemgetter(*find_places(BOUNDARY_EDITS, "boundary_edit_id")),
    )


def _read_side(scope: Scope, side: str) -> Iterator[Sequence[Any]]:
    by = f"{side}_by"
    sentences = Sentence.objects.filter(scope.within("turn__interview"), **{f"{by}__isnull": False})
    marked = quote_sentences(label_sentences(sentences, ""), "").annotate(side=Value(side))
    found = [each._replace(source=each.source.replace("retired_by", by)) for each in BOUNDARY_EDITS]
    return stream(marked.order_by(by, "start"), found)


TURNS = columns(
    Turn,
    "study interview model turn role channel speaker prompt_kind is_answer call_id details text",
    study="interview__owning_study__slug",
    model="interview__model_label",
    turn="position",
)
SENTENCES = columns(
    Sentence,
    f"{PLACE} sentence role channel is_answer kind start end text",
    find_place(""),
    role="turn__role",
    channel="turn__channel",
    is_answer="turn__is_answer",
)
(_DETAILS,) = find_places(TURNS, "details")
# Fields of an interview that are text, by their key in a line.
_TEXTS = {
    "title": "title",
    "model": "model_label",
    **{name: name for name in ("vendor", "surface", "period", "interviewer", "tier", "inclusion", "inclusion_reason")},
    "opening_prompt": "opening_prompt",
    "language": "language",
}
_TEXTS_OF_TURN = ("channel", "speaker", "prompt_kind", "call_id")


def read_turns(scope: Scope) -> Iterator[Sequence[object]]:
    """Every turn with its exact text, in the order of the study."""
    turns = Turn.objects.filter(scope.within("interview")).order_by("interview_id", "position")
    for row in stream(turns, TURNS):
        details = row[_DETAILS]
        told = json.dumps(details, ensure_ascii=False, sort_keys=True) if details else ""
        yield [*row[:_DETAILS], told, *row[_DETAILS + 1 :]]


def count_turns(scope: Scope) -> int:
    """How many rows ``read_turns`` yields."""
    return Turn.objects.filter(scope.within("interview")).count()


def count_long_turns(scope: Scope) -> int:
    """The number of turns that are longer than a spreadsheet keeps, from the ends of their sentences, without reading texts."""
    long = Sentence.objects.current().filter(scope.within("turn__interview"), end__gt=MAX_CELL)
    return long.order_by().values("turn").distinct().count()


def count_long_sentences(scope: Scope) -> int:
    """The number of sentences that are longer than a spreadsheet keeps."""
    return int(_find_sentences(scope).filter(end__gt=F("start") + MAX_CELL).count())


def read_sentences(scope: Scope) -> Iterator[Sequence[object]]:
    """Every current sentence, whether anybody coded it or not."""
    return stream(quote_sentences(label_sentences(_find_sentences(scope), ""), ""), SENTENCES)


def count_sentences(scope: Scope) -> int:
    """How many rows ``read_sentences`` yields."""
    return int(_find_sentences(scope).count())


def _find_sentences(scope: Scope) -> Any:
    found = Sentence.objects.current().filter(scope.within("turn__interview"))
    return found.order_by("turn__interview_id", "position", "start")


def write_interviews(scope: Scope, path: Path) -> int:
    """Write every interview as a line of interview_jsonl, each after the one from which it continues; returns their number.

    If the file leaves out the interview from which another continues, that one is written without the link, because a line may
    name only interviews in the file.
    """
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        within = Interview.objects.filter(scope.within())
        keys = set(within.values_list("pk", flat=True))
        found = within.select_related("hangs_on__interview").order_by("pk")
        for interview in found.iterator(chunk_size=CHUNK):
            file.write(json.dumps(_describe_interview(interview, keys), ensure_ascii=False) + "\n")
            written += 1
            scope.watch(written, 0)
    return written


def _describe_interview(interview: Interview, keys: Container[int]) -> dict[str, Any]:
    """The content of a line, in a file of the interviews ``keys``. Metadata come first and so overwrite no key of the format."""
    line: dict[str, Any] = {**interview.metadata, "id": interview.external_id, "kind": interview.kind}
    line |= {key: value for key, field in _TEXTS.items() if (value := getattr(interview, field))}
    if interview.hangs_on and interview.hangs_on.interview_id in keys:
        line["relation"] = interview.relation
        line["hangs_on"] = {"id": interview.hangs_on.interview.external_id, "turn": interview.hangs_on.position}
    if interview.run:
        line["run"] = interview.run
    line["turns"] = [_describe_turn(turn) for turn in interview.turns.order_by("position")]
    return line


def _describe_turn(turn: Turn) -> dict[str, Any]:
    described: dict[str, Any] = {"role": turn.role, "text": turn.text}
    described |= {name: value for name in _TEXTS_OF_TURN if (value := getattr(turn, name))}
    return {**described, "details": turn.details} if turn.details else described


METHODS = columns(MethodChoice, "study family method reason set set_by")

ROUNDS = columns(
    Round,
    "study round name instructions overlap_percent overlap_readers seed opened opened_by locked locked_by",
    round="number",
)

ASSIGNMENTS = columns(
    Assignment,
    "study round interview model coder assigned assigned_by completed withdrawn",
    study="round__study__slug",
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
    "study name definition family interview sentence_id sentence_label in_vivo proposed_by proposed state code_id answer "
    "answered answered_by",
    interview="sentence__turn__interview__external_id",
    sentence_label="label",
    in_vivo="is_in_vivo",
    code_id=("code__identifier", "The code it became."),
)
THEMES = columns(
    ThemeVersion,
    "study theme version name concept description state codes reason written written_by came_from",
    study="theme__study__slug",
    theme="theme__number",
    version=("number", "Number of the version of the theme, from 1; the highest is current."),
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
        "true if consent to quotation is given for the interview; otherwise text and edited_text are empty.",
    ),
)

PHASE_ENTRIES = columns(PhaseEntry, "study phase text author written withdrawn superseded_by entry_id", entry_id="pk")

POSITIONALITY = columns(PositionalityStatement, "study author text written")


def read_methods(scope: Scope) -> Iterator[Sequence[object]]:
    """Every switch of the method."""
    return stream(MethodChoice.objects.filter(study=scope.study).order_by("pk"), METHODS)


def read_rounds(scope: Scope) -> Iterator[Sequence[object]]:
    """Every round."""
    return stream(Round.objects.filter(study=scope.study).order_by("number"), ROUNDS)


def read_assignments(scope: Scope) -> Iterator[Sequence[object]]:
    """All assignments, including withdrawn ones."""
    assignments = scope.keep(Assignment.objects.filter(scope.within("interview")), "coder")
    return stream(assignments.order_by("pk"), ASSIGNMENTS)


def read_adjudications(scope: Scope) -> Iterator[Sequence[object]]:
    """Every decision on differing readings, with those readings; later decisions supersede earlier ones."""
    adjudications = Adjudication.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(adjudications)).order_by("pk"), ADJUDICATIONS)


def read_anchors(scope: Scope) -> Iterator[Sequence[object]]:
    """The anchor sentences, including removed ones."""
    anchors = AnchorSentence.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(anchors)).order_by("pk"), ANCHORS)


def read_anchor_readings(scope: Scope) -> Iterator[Sequence[object]]:
    """The readings of anchor sentences under each codebook version."""
    readings = scope.keep(AnchorReading.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(readings).order_by("pk"), ANCHOR_READINGS)


def read_proposals(scope: Scope) -> Iterator[Sequence[object]]:
    """Proposed codes, with the answers."""
    proposals = scope.keep(CodeProposal.objects.filter(study=scope.study), "proposed_by")
    proposals = proposals.filter(Q(sentence__isnull=True) | scope.within("sentence__turn__interview"))
    return stream(label_sentences(proposals).order_by("pk"), PROPOSALS)


def read_themes(scope: Scope) -> Iterator[Sequence[object]]:
    """Every version of every theme, with the numbers of the themes it was merged or split from.

    A blind coder does not get the reasons, which reveal how her colleagues read.
    """
    origins: dict[int, list[int]] = {}
    merged = Theme.objects.filter(study=scope.study, came_from__isnull=False)
    for theme, number in merged.order_by("came_from__number").values_list("pk", "came_from__number"):
        origins.setdefault(theme, []).append(number)
    versions = ThemeVersion.objects.filter(theme__study=scope.study).order_by("theme__number", "number")
    [reason] = find_places(THEMES, "reason")
    for *cells, theme_id in stream(versions, THEMES):
        if scope.only is not None:
            cells[reason] = ""
        yield [*cells, origins.get(int(str(theme_id)), [])]


def read_theme_quotes(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences for and against each theme: their exact text, and the quotation with its edits marked. For interviews that may
    not be quoted, only the positions."""
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
    """The interviews that have quotes."""
    return set(_find_quotes(scope).order_by().values_list("sentence__turn__interview", flat=True))


def _find_quotes(scope: Scope) -> QuerySet[ThemeQuote]:
    return ThemeQuote.objects.filter(scope.within("sentence__turn__interview"))


def read_phase_entries(scope: Scope) -> Iterator[Sequence[object]]:
    """The entries of each phase, including earlier texts."""
    entries = scope.keep(PhaseEntry.objects.filter(study=scope.study), "author")
    return stream(entries.order_by("pk"), PHASE_ENTRIES)


def read_positionality(scope: Scope) -> Iterator[Sequence[object]]:
    """The active statements; withdrawn ones are no longer shown to others."""
    statements = scope.keep(
        PositionalityStatement.objects.filter(study=scope.study, withdrawn_at__isnull=True), "author"
    )
    return stream(statements.order_by("pk"), POSITIONALITY)
