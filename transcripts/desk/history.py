"""One person's acts in a study, newest first, at the desk and elsewhere. Nobody else sees the list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet, TextField, Value

from transcripts.accounts.models import User
from transcripts.coding.models import Coding, Decision, Level, Link, Memo, Reveal, StageOpening
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence
from transcripts.hooks import load_registrations
from transcripts.studies.models import Study

ENTRIES_PER_PAGE = 100
Rows = QuerySet[Any, Any]
# A row on a sentence that a boundary edit made is the person's own only when it is newer than the edit, and a row that a
# boundary edit withdrew was not withdrawn by the person.
_MADE_BY_HER = Q(sentence__made_by__isnull=True) | Q(created_at__gte=F("sentence__made_by__edited_at"))
_ENDED_BY_HER = Q(sentence__retired_by__isnull=True) | Q(withdrawn_at__lt=F("sentence__retired_by__edited_at"))
_PLACE = ("sentence__turn__interview",)
# Texts of turns may be long, and the list shows none.
_TEXT = "sentence__turn__text"


@dataclass(frozen=True)
class Act:
    """A person's act on one row, and its place.

    ``about`` names a code or a criterion, ``details`` the values. ``rests_on``: the sentences that a link or a score names,
    with their turns. The place is ``sentence``, or else the turn at the position ``turn``, or else the page of the interview
    with the route ``address`` and the name ``page``.
    """

    interview: Interview
    about: str = ""
    details: str = ""
    rests_on: Sequence[Sentence] = ()
    sentence: Sentence | None = None
    turn: int | None = None
    address: str = "desk:desk"
    page: str = ""


class HistoryPart(NamedTuple):
    """Acts of some kinds. ``words``: the kinds, as pages call them.

    ``list_rows`` returns the acts of a person in a study, by kind, in the form of ``select_acts``. ``describe`` returns the
    data for display, by the ids of rows; it takes one or two queries.
    """

    words: Mapping[str, str]
    list_rows: Callable[[Study, User], Iterator[Rows]]
    describe: Callable[[Collection[int]], Mapping[int, Act]]


class Entry(NamedTuple):
    """A line of the history."""

    at: datetime
    kind: str
    words: str
    act: Act


def register_history(*parts: HistoryPart) -> None:
    """Add kinds of acts to everybody's history. Called once, in an app's ``registrations``."""
    _parts.extend(parts)


def select_acts(rows: QuerySet[Any], kind: str, at: str) -> Rows:
    """The same columns for rows of every model: the kind of act, its time (the column ``at``), and the row's id."""
    selected: Rows = (
        rows.order_by()
        .annotate(act=Value(kind, output_field=TextField()), act_at=F(at), act_row=F("pk"))
        .values_list("act", "act_at", "act_row")
    )
    return selected


def list_history(study: Study, user: User, *, page: int = 1) -> tuple[list[Entry], bool]:
    """A page of the acts of ``user`` in the study, and whether there are older ones. Rows that the program made or withdrew
    because sentence boundaries were edited, codes merged or codings changed are not acts.

    One query, and one or two for each part with entries on the page.
    """
    load_registrations()
    first = (page - 1) * ENTRIES_PER_PAGE
    selects = [rows for part in _parts for rows in part.list_rows(study, user)]
    every = selects[0].union(*selects[1:], all=True).order_by("-act_at", "-act_row", "act")
    found: list[tuple[str, datetime, int]] = list(every[first : first + ENTRIES_PER_PAGE + 1])
    shown = found[:ENTRIES_PER_PAGE]
    acts: dict[tuple[str, int], Act] = {}
    for part in _parts:
        own = [(kind, row) for kind, _, row in shown if kind in part.words]
        if own:
            described = part.describe({row for _, row in own})
            acts |= {(kind, row): described[row] for kind, row in own}
    words = {kind: said for part in _parts for kind, said in part.words.items()}
    return [Entry(at, kind, words[kind], acts[kind, row]) for kind, at, row in shown], len(found) > len(shown)


def _list_codings(study: Study, user: User) -> Iterator[Rows]:
    own = Coding.objects.filter(sentence__turn__interview__study=study, coder=user)
    made = own.filter(migrated_from__isnull=True)
    yield select_acts(made.filter(supersedes__isnull=True), "applied", "created_at")
    yield select_acts(made.filter(supersedes__isnull=False), "changed", "created_at")
    ended = own.filter(withdrawn_at__isnull=False, superseded_by__isnull=True, migrated_to__isnull=True)
    yield select_acts(ended.filter(_ENDED_BY_HER), "removed", "withdrawn_at")


def _describe_codings(ids: Collection[int]) -> dict[int, Act]:
    codings = Coding.objects.filter(pk__in=ids).select_related("code", *_PLACE).defer(_TEXT)
    return {coding.pk: _describe_coding(coding) for coding in codings}


def _describe_coding(coding: Coding) -> Act:
    said = [*coding.attributes.values()]
    if coding.level == Level.LATENT:
        said.insert(0, "latent")
    place = coding.sentence
    return Act(place.turn.interview, about=coding.code.name, details=" · ".join(said), sentence=place)


def _list_links(study: Study, user: User) -> Iterator[Rows]:
    place = "coding__sentence"
    own = Link.objects.filter(**{f"{place}__turn__interview__study": study}, coder=user)
    # When links are kept with a changed coding, the old ones are withdrawn at the moment when the new ones are made. The
    # same is true of a link that its coder made again with another quote.
    beside = Link.objects.filter(coder=user, coding__sentence=OuterRef(place))
    replaced = beside.filter(withdrawn_at=OuterRef("created_at"))
    quoted_anew = replaced.filter(coding=OuterRef("coding"), sentence=OuterRef("sentence"))
    of_boundaries = Q(
        coding__sentence__made_by__isnull=False, created_at__lte=F("coding__sentence__made_by__edited_at")
    )
    made = own.exclude(of_boundaries)
    yield select_acts(made.filter(~Exists(replaced)), "linked", "created_at")
    yield select_acts(made.filter(Exists(quoted_anew)), "linked_anew", "created_at")
    replacing = beside.filter(created_at=OuterRef("withdrawn_at"))
    coding_stood = Q(coding__withdrawn_at__isnull=True) | Q(withdrawn_at__lt=F("coding__withdrawn_at"))
    ended = own.filter(coding_stood, ~Exists(replacing), withdrawn_at__isnull=False)
    # The history that a boundary edit copies was made before it.
    copied = Q(coding__sentence__made_by__isnull=False, withdrawn_at__lte=F("coding__sentence__made_by__edited_at"))
    yield select_acts(ended.exclude(copied), "unlinked", "withdrawn_at")


def _describe_links(ids: Collection[int]) -> dict[int, Act]:
    related = ("code", "coding__code", "coding__sentence__turn__interview", "sentence__turn")
    links = Link.objects.filter(pk__in=ids).select_related(*related).defer("coding__sentence__turn__text", _TEXT)
    return {link.pk: _describe_link(link) for link in links}


def _describe_link(link: Link) -> Act:
    place = link.coding.sentence
    kind = Link.Kind(link.kind).label.lower()
    return Act(
        place.turn.interview,
        about=link.coding.code.name,
        details=f"{kind} {link.code.name}" if link.code else kind,
        rests_on=[link.sentence] if link.sentence else [],
        sentence=place,
    )


def _list_decisions(study: Study, user: User) -> Iterator[Rows]:
    own = Decision.objects.filter(sentence__turn__interview__study=study, coder=user)
    made = own.filter(_MADE_BY_HER)
    yield select_acts(made.filter(none_applies=True), "none", "created_at")
    yield select_acts(made.filter(none_applies=False), "decided", "created_at")
    yield select_acts(own.filter(_ENDED_BY_HER, withdrawn_at__isnull=False), "reopened", "withdrawn_at")


def _describe_decisions(ids: Collection[int]) -> dict[int, Act]:
    decisions = Decision.objects.filter(pk__in=ids).select_related(*_PLACE).defer(_TEXT)
    return {each.pk: Act(each.sentence.turn.interview, sentence=each.sentence) for each in decisions}


def _list_memos(study: Study, user: User) -> Iterator[Rows]:
    own = Memo.objects.filter(study=study, author=user, interview__study=study).filter(_MADE_BY_HER)
    yield select_acts(own.exclude(text=""), "memo", "created_at")
    yield select_acts(own.filter(text=""), "emptied", "created_at")


def _describe_memos(ids: Collection[int]) -> dict[int, Act]:
    memos = Memo.objects.filter(pk__in=ids).select_related("interview", "sentence")
    return {memo.pk: Act(memo.interview, sentence=memo.sentence) for memo in memos if memo.interview}


def _list_boundary_edits(study: Study, user: User) -> Iterator[Rows]:
    own = BoundaryEdit.objects.filter(turn__interview__study=study, edited_by=user)
    for kind in BoundaryEdit.Kind.values:
        yield select_acts(own.filter(kind=kind), kind, "edited_at")


def _describe_boundary_edits(ids: Collection[int]) -> dict[int, Act]:
    pieces = Prefetch("made", Sentence.objects.order_by("start"))
    edits = BoundaryEdit.objects.filter(pk__in=ids).select_related("turn__interview").defer("turn__text")
    return {each.pk: Act(each.turn.interview, sentence=each.made.all()[0]) for each in edits.prefetch_related(pieces)}


def _list_openings(study: Study, user: User) -> Iterator[Rows]:
    own = StageOpening.objects.filter(turn__interview__study=study, coder=user)
    yield select_acts(own, "reasoning", "opened_at")


def _describe_openings(ids: Collection[int]) -> dict[int, Act]:
    openings = StageOpening.objects.filter(pk__in=ids).select_related("turn__interview").defer("turn__text")
    return {each.pk: Act(each.turn.interview, turn=each.turn.position) for each in openings}


def _list_reveals(study: Study, user: User) -> Iterator[Rows]:
    own = Reveal.objects.filter(sentence__turn__interview__study=study, coder=user)
    # A boundary edit copies reveals to the new sentences.
    of_boundaries = Q(sentence__made_by__isnull=False, revealed_at__lt=F("sentence__made_by__edited_at"))
    for source in Reveal.Source.values:
        yield select_acts(own.filter(source=source).exclude(of_boundaries), source, "revealed_at")


def _describe_reveals(ids: Collection[int]) -> dict[int, Act]:
    reveals = Reveal.objects.filter(pk__in=ids).select_related(*_PLACE).defer(_TEXT)
    return {each.pk: Act(each.sentence.turn.interview, sentence=each.sentence) for each in reveals}


# Those of the desk come first; rooms above it add theirs.
_parts = [
    HistoryPart({"applied": "applied", "changed": "changed", "removed": "removed"}, _list_codings, _describe_codings),
    HistoryPart(
        {"linked": "link added", "linked_anew": "link changed", "unlinked": "link removed"},
        _list_links,
        _describe_links,
    ),
    HistoryPart(
        {"none": "none applies", "decided": "nothing more here", "reopened": "decision taken back"},
        _list_decisions,
        _describe_decisions,
    ),
    HistoryPart({"memo": "memo written", "emptied": "memo removed"}, _list_memos, _describe_memos),
    HistoryPart(
        {"split": "sentence split", "merge": "sentences merged"}, _list_boundary_edits, _describe_boundary_edits
    ),
    HistoryPart({"reasoning": "reasoning opened"}, _list_openings, _describe_openings),
    HistoryPart(
        {"machine": "suggestions opened", "colleagues": "colleagues’ codings opened"}, _list_reveals, _describe_reveals
    ),
]
