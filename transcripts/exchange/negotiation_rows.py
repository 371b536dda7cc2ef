"""Rows of negotiation: links, ledgers, pairs, case sheets, normative stances, scores, openings of reasoning."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Coding, Link, StageOpening
from transcripts.corpus.models import Turn
from transcripts.exchange.rows import (
    CHUNK,
    PLACE,
    Scope,
    columns,
    find_place,
    find_places,
    label_sentences,
    stream,
)
from transcripts.formats.interviews.threads import find_stage
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score, ScoreEvidence
from transcripts.negotiation.pure.episodes import list_episodes
from transcripts.negotiation.pure.records import CONDUCT as CONDUCT_STAGES
from transcripts.negotiation.pure.records import RecordIndex
from transcripts.negotiation.queries import records
from transcripts.negotiation.queries.cases import (
    find_paired,
    find_with_sheets,
    is_feature,
    is_not_masked,
    list_pairs,
    tell_intents,
    visible_to_coder,
)
from transcripts.negotiation.queries.scores import find_scored
from transcripts.studies.access import find_role
from transcripts.studies.models import Study

BACK, CONDUCT = "back", "conduct"
# Values that are not read with an entry of a feature.
DERIVED = ("stage", "track", "status", "hypothesis", "warrants")

LINKS = columns(
    Link,
    f"{PLACE} code_id coding_id kind feature to_interview to_turn to_sentence_id quote_start quote_end coder blinding created "
    "withdrawn link_id",
    find_place("coding__sentence__"),
    code_id="coding__code__identifier",
    feature=("code__identifier", "Identifier of the feature that it acts on."),
    to_interview=("sentence__turn__interview__external_id", "Interview of the sentence it leads to."),
    to_turn=("sentence__turn__position", "Place of the turn of that sentence."),
    to_sentence_id="sentence_id",
)

LEDGER = columns(
    Coding,
    f"{PLACE} stage track code_id code status hypothesis warrants coder blinding created coding_id",
    find_place(),
    code_id="code__identifier",
    code="code__name",
    status=("", "The status in which the turn leaves the feature; empty if it is not stated."),
    hypothesis=("", "What the model assumes about the feature, in the coder's words."),
    warrants=("", "List of the numbers of the sentences that the entry rests on."),
)

LEDGER_STATES = columns(
    Coding,
    "study interview turn stage track code_id status since is_entry coder blinding",
    find_place(),
    code_id="code__identifier",
    status=("", "The status after the turn: that of the last entry of the track."),
    since=("", "Turn of that entry."),
    is_entry=("", "true if the turn itself has an entry for the feature."),
)

EPISODES = columns(
    Coding,
    "study interview turn kind outcome answers explained coder",
    find_place() | {"turn": ("sentence__turn__position", "Place of the challenged turn.")},
    kind=("", "Kind of the challenge as the coder read it: warranted, unwarranted, new_fact or probe."),
    outcome=("", "revised, held, conceded, sidestepped, none (decided, and no response applies) or undecided."),
    answers=("", "List of the places of the turns that answer, until the interviewer speaks again."),
    explained=("", "true if a Revise says what changed and on what grounds."),
)

PAIRS = columns(
    Pair, "study name number a b differs expect reason made made_by withdrawn", name=("name", "Name of the pair.")
)

CASE_SHEETS = columns(
    CaseSheet,
    "study interview number holds relevant irrelevant intents reason written written_by",
    study="interview__owning_study__slug",
    intents=("told_intents", "The intents of the interviewer's turns, by their places; empty for coders."),
)

NORMATIVE_STANCES = columns(
    NormativeStance, f"study name number {' '.join(NormativeStance.texts)} author reason sha256 written written_by"
)

SCORES = columns(
    Score,
    "study interview stance stance_number stance_author criterion turn feature value note evidence coder blinding created "
    "withdrawn superseded_by score_id",
    study="interview__owning_study__slug",
    stance=("stance__name", "Name of the normative stance."),
    stance_number=("stance__number", "Number of its wording."),
    stance_author=("stance__author", "Whose stance it is."),
    turn=("turn__position", "Place of the turn that is judged; empty for the whole thread."),
    evidence=(
        "",
        "The evidence: a list of objects with sentence_id, sentence_label, turn, quote_start and quote_end.",
    ),
)

STAGE_OPENINGS = columns(
    StageOpening,
    "study interview turn coder opened",
    study="turn__interview__owning_study__slug",
    interview="turn__interview__external_id",
    turn="turn__position",
)


def read_links(scope: Scope) -> Iterator[Sequence[object]]:
    """Every link, withdrawn ones too."""
    links = scope.keep(Link.objects.filter(scope.within("coding__sentence__turn__interview")), "coder")
    return stream(label_sentences(links, "coding__sentence__").order_by("pk"), LINKS)


def read_ledger(scope: Scope) -> Iterator[Sequence[object]]:
    """The active entries of features, with their evidence."""
    entries = _find_entries(scope).order_by("pk")
    warrants: dict[int, list[int]] = {}
    active = Link.objects.active().filter(kind=Link.Kind.WARRANT, coding__in=entries.order_by().values("pk"))
    for coding, sentence in active.order_by("pk").values_list("coding", "sentence"):
        warrants.setdefault(coding, []).append(sentence)
    sources = {each.name: each.source for each in LEDGER if each.name not in DERIVED}
    further = ("attributes", "sentence__turn__role", "sentence__turn__channel")
    rows = label_sentences(entries).values_list(*sources.values(), *further)
    for *cells, answers, role, channel in rows.iterator(chunk_size=CHUNK):
        row = dict(zip(sources, cells, strict=True))
        stage = find_stage(role, channel) or ""
        row |= {"stage": stage, "track": _find_track(stage), "warrants": warrants.get(row["coding_id"], [])}
        row |= {name: str(answers.get(name) or "") for name in ("status", "hypothesis")}
        yield [row[each.name] for each in LEDGER]


def read_ledger_states(scope: Scope) -> Iterator[Sequence[object]]:
    """The status of each feature after each turn of the model, by coder, from its first entry on, separately for each track."""
    begins = Coalesce("quote_start", "sentence__start")
    entries = _find_entries(scope).annotate(begins=begins)
    ordered = entries.order_by(
        "sentence__turn__interview", "coder__username", "sentence__turn__position", "begins", "pk"
    )
    columns = ("sentence__turn__interview", "coder__username", "sentence__turn__position", "code__identifier")
    rows = ordered.values_list(*columns, "attributes", "blinding").iterator(chunk_size=CHUNK)
    turns: list[tuple[int, str]] = []
    read: int | None = None
    for (interview, coder), own in groupby(rows, key=lambda row: row[:2]):
        if interview != read:
            read, turns = interview, _list_stages(interview)
            external_id = Turn.objects.filter(interview=interview).values_list("interview__external_id", flat=True)[0]
        yield from (
            [scope.study.slug, external_id, *state, coder, blinding]
            for *state, blinding in _carry(turns, [row[2:] for row in own])
        )


def _carry(turns: list[tuple[int, str]], entries: list[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """The columns from the turn on, for the entries of one coder in one thread, given in the order of the text."""
    waiting = list(reversed(entries))
    standing: dict[str, dict[str, tuple[str, int, str]]] = {CONDUCT: {}, BACK: {}}
    for turn, stage in turns:
        track = _find_track(stage)
        while waiting and waiting[-1][0] <= turn:
            position, feature, answers, blinding = waiting.pop()
            if position == turn:
                standing[track][feature] = str(answers.get("status") or ""), turn, blinding
        for feature, (status, since, blinding) in sorted(standing[track].items()):
            yield [turn, stage, track, feature, status, since, since == turn, blinding]


def _list_stages(interview: int) -> list[tuple[int, str]]:
    turns = Turn.objects.filter(interview=interview).order_by("position").values_list("position", "role", "channel")
    return [(turn, stage) for turn, role, channel in turns if (stage := find_stage(role, channel))]


def _find_track(stage: str) -> str:
    return BACK if stage == BACK else CONDUCT if stage else ""


def _find_entries(scope: Scope) -> QuerySet[Coding]:
    entries = Coding.objects.active().filter(is_feature("code"), scope.within("sentence__turn__interview"))
    return scope.keep(entries.filter(sentence__retired_by__isnull=True), "coder")


def read_episodes(scope: Scope) -> Iterator[Sequence[object]]:
    """Every challenged turn with its answers, from each coder's blind readings, without reasoning. Archived and excluded
    interviews have none."""
    is_narrowed = bool(scope.kind or scope.run)
    interviews = (
        list(scope.study.interviews.filter(scope.within()).values_list("pk", flat=True)) if is_narrowed else None
    )
    coders = [scope.only.username] if scope.only else None
    index = RecordIndex(records.read_records(scope.study, coders=coders, interviews=interviews))
    for coder in index.coders:
        for episode in list_episodes(index, index.work[coder], CONDUCT_STAGES):
            place = (episode.thread, episode.turn, episode.kind, episode.outcome)
            yield [scope.study.slug, *place, list(episode.answers), episode.is_explained, coder]


def read_pairs(scope: Scope) -> Iterator[Sequence[object]]:
    """Every pair, including earlier wordings, except those closed to the person whose rows these are."""
    return stream(find_pairs(scope).order_by("name", "number"), PAIRS)


def find_pairs(scope: Scope) -> QuerySet[Pair]:
    """The pairs of an export: none with a masked thread, and for a coder only those that are open to her."""
    pairs = Pair.objects.filter(scope.within("a"), scope.within("b"), is_not_masked("a"), is_not_masked("b"))
    role = find_role(scope.only, scope.study) if scope.only else None
    if scope.only is None:
        return pairs
    if role is None:
        return pairs.none()
    views = list_pairs(Viewer(scope.study, scope.only, role), pairs)
    return pairs.filter(pk__in=[view.pair.pk for view in views if view.is_open])


def read_case_sheets(scope: Scope) -> Iterator[Sequence[object]]:
    """Every number of every case sheet; for a coder, those of the interviews that she has completed."""
    later = CaseSheet.objects.filter(interview=OuterRef("interview"), number__gt=OuterRef("number"))
    sheets = find_case_sheets(scope).annotate(holds=~Exists(later))
    return stream(sheets.order_by("interview_id", "number"), CASE_SHEETS)


def find_case_sheets(scope: Scope) -> Any:
    """The case sheets of an export: none of a masked thread. ``told_intents`` has the intents that it may contain."""
    may_see = visible_to_coder(scope.only.pk, scope.study) if scope.only else Q()
    sheets = CaseSheet.objects.filter(may_see, scope.within("interview"), is_not_masked("interview"))
    told = Q(written_by=scope.only.pk) if scope.only else Q()
    return sheets.annotate(told_intents=tell_intents(told))


def find_judged(study: Study) -> Collection[int]:
    """The interviews that a person must unblind to see all of these rows."""
    return {*find_with_sheets(study), *find_paired(study), *find_scored(study)}


def read_normative_stances(scope: Scope) -> Iterator[Sequence[object]]:
    """Every wording of every normative stance."""
    return stream(NormativeStance.objects.filter(study=scope.study).order_by("name", "number"), NORMATIVE_STANCES)


def read_scores(scope: Scope) -> Iterator[Sequence[object]]:
    """Every score with its evidence, including withdrawn ones."""
    scores = find_scores(scope)
    evidence: dict[int, list[dict[str, object]]] = {}
    rows = label_sentences(ScoreEvidence.objects.filter(score__in=scores.values("pk")))
    columns = ("sentence_id", "label", "sentence__turn__position", "quote_start", "quote_end")
    names = ("sentence_id", "sentence_label", "turn", "quote_start", "quote_end")
    for score, *cells in rows.order_by("pk").values_list("score", *columns):
        evidence.setdefault(score, []).append(dict(zip(names, cells, strict=True)))
    stored = [each if each.source else each._replace(source="pk") for each in SCORES]
    (place,) = find_places(SCORES, "evidence")
    for row in stream(scores.order_by("pk"), stored):
        yield [*row[:place], evidence.get(row[place], []), *row[place + 1 :]]


def find_scores(scope: Scope) -> QuerySet[Score]:
    """The scores of an export."""
    return scope.keep(Score.objects.filter(scope.within("interview")), "coder")


def read_stage_openings(scope: Scope) -> Iterator[Sequence[object]]:
    """When each person first opened a model's reasoning."""
    openings = scope.keep(StageOpening.objects.filter(scope.within("turn__interview")), "coder")
    return stream(openings.order_by("pk"), STAGE_OPENINGS)
