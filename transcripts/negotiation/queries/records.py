"""Reads the threads of a study and people's work on them into the records from which every figure is computed.

The number of queries does not depend on the number of threads, and no texts are read. Page, command and API all read here, so
they show the same numbers.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.coding.models import Coding, CodingQuerySet, Decision, DecisionQuerySet, Link, StageOpening
from transcripts.coding.queries import read_first_openings, saw_reasoning
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.negotiation.models import NormativeStance, Pair, Score
from transcripts.negotiation.pure import records
from transcripts.negotiation.queries.cases import (
    is_latest,
    is_not_masked,
    latest_sheets,
    list_pairs,
    visible_sheets,
)
from transcripts.negotiation.queries.scores import CodeBook, MergedCodes, has_place, read_code_book, visible_scores
from transcripts.studies.models import Study

# As the export of trajectories has them.
TEXTS_OF_STANCES = (*NormativeStance.texts, "author", "sha256")


@dataclass(frozen=True)
class Asked:
    """Which work is read: whose (``coders``: user names; ``None`` is everybody), on which ``interviews`` (``None`` is all).

    ``viewer``: the person who looks. She gets what she may see: others' codings as her ``Viewer`` allows, case sheets and pairs
    by the rules of ``cases``. Without a viewer everything is read, as for a command. ``is_blind``: blind readings, as the pages
    of agreement count them; otherwise everything active. ``before_reasoning`` leaves out what a coder did after she had opened
    reasoning of that thread. ``has_scores``: scores are read too.
    """

    study: Study
    viewer: Viewer | None = None
    coders: Collection[str] | None = None
    interviews: Collection[int] | None = None
    is_blind: bool = True
    before_reasoning: bool = False
    has_scores: bool = True

    @property
    def threads(self) -> QuerySet[Interview]:
        """The selected threads, in the order in which they were imported."""
        columns = ("pk", "study", "external_id", "mask_label", "unmasked_at", "metadata", "kind", "model_label")
        rows = self.study.interviews.order_by("pk").only(*columns)
        return rows if self.interviews is None else rows.filter(_is_one_of("pk", self.interviews))


class Place(NamedTuple):
    """Where the number of a turn leads: the desk at its first sentence or, if it has none, at the turn."""

    interview: int
    turn: int
    sentence: int | None


@dataclass
class Found:
    """The records, with the codes of the study.

    ``numbers``: the interview of each thread, by the thread's id; ``sentences``, ``blinding_of`` and ``version_of``: of each
    coding, by its id, the sentence, the blinding and the codebook version; ``left_out``: how many codings were made after
    reasoning was opened; ``sheets``: the number of the case sheet that holds of each thread, by the thread's id.
    """

    code_book: CodeBook
    records: records.Records = field(default_factory=records.Records)
    numbers: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    sentences: dict[str, int] = field(default_factory=dict)
    blinding_of: dict[str, str] = field(default_factory=dict)
    version_of: dict[str, int] = field(default_factory=dict)
    sheets: dict[str, int] = field(default_factory=dict)


def read_records(
    study: Study,
    *,
    viewer: Viewer | None = None,
    coders: Collection[str] | None = None,
    interviews: Collection[int] | None = None,
    is_blind: bool = True,
    before_reasoning: bool = False,
) -> records.Records:
    """The records of a study, as ``Asked`` says. Threads are named by their ids, coders by their user names."""
    return read(Asked(study, viewer, coders, interviews, is_blind, before_reasoning)).records


def read(asked: Asked) -> Found:
    """The same, with what a page says about its figures."""
    found = Found(read_code_book(asked.study))
    places = _read_threads(asked, found, asked.threads, _list_turns(asked).values_list(*_TURN))
    _read_work(asked, found, places)
    names = {pk: thread for thread, pk in found.numbers.items()}
    found.records.pairs = _read_pairs(asked, names)
    if asked.has_scores:
        _read_scores(asked, found, names)
    return found


def read_thread(asked: Asked, interview: Interview) -> tuple[Found, dict[int, Turn]]:
    """The records of one thread, without pairs and scores, and its turns by position. Eight queries."""
    found = Found(read_code_book(asked.study))
    turns = list(_list_turns(asked).defer("details"))
    rows = [
        (each.pk, each.interview_id, each.position, each.role, each.channel, each.number, each.is_answer)
        for each in turns
    ]
    places = _read_threads(asked, found, [interview], rows)
    _read_work(asked, found, places)
    return found, {each.position: each for each in turns}


_TURN = ("pk", "interview", "position", "role", "channel", "number", "is_answer")


def _list_turns(asked: Asked) -> QuerySet[Any]:
    """The turns in order, each with the ``number`` of its sentences."""
    sentences = Sentence.objects.current().filter(turn=OuterRef("pk")).order_by().values("turn")
    number = Coalesce(Subquery(sentences.annotate(number=Count("pk")).values("number")), 0)
    turns = Turn.objects.filter(_within(asked, "interview")).order_by("interview", "position")
    return turns.annotate(number=number)


def _read_threads(
    asked: Asked,
    found: Found,
    interviews: Iterable[Interview],
    turns: Iterable[tuple[int, int, int, str, str, int, bool]],
) -> dict[int, tuple[str, int]]:
    """Adds threads and turns; returns the thread and the position of each turn, by its number."""
    sheets = _read_sheets(asked, found.code_book)
    names = {}
    for interview in interviews:
        thread = names[interview.pk] = interview.external_id
        sheet = sheets.get(interview.pk, _Sheet())
        case = sheet.relevant, sheet.irrelevant, sheet.intents
        found.records.threads.append(
            records.Thread(thread, _read_condition(interview), *case, interview.kind, interview.model_label)
        )
        found.numbers[thread] = interview.pk
        if sheet.number:
            found.sheets[thread] = sheet.number
    places = {}
    for pk, interview_id, position, role, channel, number, is_answer in turns:
        found.records.turns.append(records.Turn(names[interview_id], position, role, channel, number, is_answer))
        places[pk] = (names[interview_id], position)
    return places


def _read_work(asked: Asked, found: Found, places: Mapping[int, tuple[str, int]]) -> None:
    coded = _read_codings(asked, found, places)
    _read_links(asked, found, coded, places)
    _read_decided(asked, found, coded, places)
    if found.records.codings and not found.records.decided:
        found.records.warnings.append(
            "Nobody has decided a sentence here, so every thread counts as read by every coder."
        )


def read_places(study: Study, interviews: Collection[int] | None = None) -> dict[tuple[str, int], Place]:
    """Where the numbers of turns lead, by the id of the thread and the position of the turn. One query."""
    asked = Asked(study, interviews=interviews)
    first = Sentence.objects.current().filter(turn=OuterRef("pk")).order_by("start").values("pk")[:1]
    turns = Turn.objects.filter(_within(asked, "interview")).annotate(first=first)
    columns = ("interview__external_id", "position", "interview", "pk", "first")
    return {(thread, position): Place(*place) for thread, position, *place in turns.values_list(*columns)}


def list_readers(study: Study) -> list[str]:
    """The user names of people with codings or scores in the study, in alphabetical order."""
    coded = Coding.objects.active().filter(sentence__turn__interview__study=study)
    scored = Score.objects.active().filter(interview__study=study)
    names = {
        *coded.values_list("coder__username", flat=True).distinct(),
        *scored.values_list("coder__username", flat=True),
    }
    return sorted(names)


def find_main_reader(study: Study, own: str) -> str:
    """The person with most codings in the study; ``own`` in a tie, "" if nobody has any. One query."""
    coded = Coding.objects.active().filter(sentence__turn__interview__study=study).order_by()
    counts = dict(coded.values_list("coder__username").annotate(Count("pk")))
    return max(counts, key=lambda name: (counts[name], name == own, name), default="")


def count_threads_read(study: Study, coder: str | None) -> dict[tuple[str, str], int]:
    """For each kind and model label, the number of threads in which somebody has coded negotiation. One query."""
    coded = Coding.objects.active().filter(
        coder__username=coder,
        sentence__turn__interview=OuterRef("pk"),
        code__family__identifier__in=records.FAMILIES_OF_NEGOTIATION,
    )
    rows = study.interviews.order_by().values_list("kind", "model_label")
    return {(kind, label): n for kind, label, n in rows.annotate(coded=Count("pk", filter=Exists(coded)))}


def list_conditions(study: Study) -> list[str]:
    """The conditions that files give for threads, except masked ones. One query."""
    rows = study.interviews.filter(is_not_masked()).order_by()
    found = rows.values_list("metadata__condition", flat=True).distinct()
    return sorted({each for each in found if isinstance(each, str) and each})


def _read_condition(interview: Interview) -> str:
    value = "" if interview.is_masked else interview.metadata.get("condition", "")
    return value if isinstance(value, str) else ""


def _is_one_of(column: str, numbers: Collection[int]) -> Q:
    return Q(**{f"{column}__in": list(numbers)})


def _within(asked: Asked, interview: str) -> Q:
    """A condition: the interview at this path from a row is among the selected threads."""
    if asked.interviews is None:
        return Q(**{f"{interview}__study": asked.study})
    return Q(**{f"{interview}__study": asked.study}) & _is_one_of(interview, asked.interviews)


class _Sheet(NamedTuple):
    """The relevant and irrelevant features of a case sheet, and its intents; the number is 0 if there is none."""

    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()
    number: int = 0
    intents: tuple[tuple[int, str], ...] = ()


def _read_sheets(asked: Asked, book: CodeBook) -> dict[int, _Sheet]:
    """The latest case sheets that may be seen, by interview."""
    rows, intents = latest_sheets(asked.study), "intents"
    if asked.viewer is not None:
        # What turns were meant to be is kept from those who code, whatever figure it comes into.
        rows, intents = visible_sheets(asked.viewer).filter(is_latest()), "told_intents"
    rows = rows.filter(_within(asked, "interview"), is_not_masked("interview"))
    columns = ("interview", "relevant", "irrelevant", "number", intents)
    return {
        interview: _Sheet(
            _list_features(relevant, book),
            _list_features(irrelevant, book),
            number,
            tuple(sorted((int(position), kind) for position, kind in meant.items())),
        )
        for interview, relevant, irrelevant, number, meant in rows.values_list(*columns)
    }


def _list_features(listed: Iterable[Mapping[str, str]], book: CodeBook) -> tuple[str, ...]:
    return tuple(dict.fromkeys(follow_merges(each["feature"], book.merged) for each in listed))


def _codings_of(asked: Asked) -> CodingQuerySet:
    """The codings to read, on current sentences."""
    rows = Coding.objects.blind() if asked.is_blind else Coding.objects.active()
    rows = rows.filter(_within(asked, "sentence__turn__interview"), sentence__retired_by__isnull=True)
    return rows.filter(_of_people(asked))


def _of_people(asked: Asked) -> Q:
    """A condition on codings, decisions and links: they are by the requested coders and the viewer may see them."""
    people = Q() if asked.coders is None else Q(coder__username__in=list(asked.coders))
    viewer = asked.viewer
    if viewer is None:
        return people
    own = Q(coder=viewer.user_id)
    if not viewer.sees_all:
        return people & own
    if viewer.visible_interviews is None:
        return people
    return people & (own | Q(sentence__turn__interview__in=viewer.visible_interviews))


class _Coded(NamedTuple):
    """The ids of the codings that were read; which sentences were coded (turn, sentence, coder, family); and, if requested, when
    each coder opened reasoning of a thread."""

    numbers: set[int]
    sentences: set[tuple[int, int, str, str]]
    openings: Mapping[tuple[str, str], datetime.datetime]


def _read_codings(asked: Asked, found: Found, places: Mapping[int, tuple[str, int]]) -> _Coded:
    codes = found.code_book.rows
    openings = _read_openings(asked) if asked.before_reasoning else {}
    begins = Coalesce("quote_start", "sentence__start")
    columns = ("pk", "sentence__turn", "sentence", "coder__username", "code", "enactment", "attributes", "blinding")
    rows = _codings_of(asked).annotate(begins=begins).order_by("pk")
    coded = _Coded(set(), set(), openings)
    merged = MergedCodes()
    for pk, turn, sentence, coder, code, enactment, attributes, blinding, created, start in rows.values_list(
        *columns, _when_made(asked), "begins"
    ):
        thread, position = places[turn]
        if saw_reasoning(openings, (coder, thread), created):
            found.left_out += 1
            continue
        row = codes[code]
        if not merged.counts(sentence, coder, row):
            continue
        found.records.codings.append(
            records.Coding(str(pk), thread, position, start, coder, row.identifier, enactment, attributes, row.family)
        )
        key = str(pk)
        found.sentences[key], found.blinding_of[key], found.version_of[key] = sentence, blinding, row.version
        coded.numbers.add(pk)
        if row.unit == CodeFamily.Unit.SENTENCE:
            coded.sentences.add((turn, sentence, coder, row.family))
    return coded


def _when_made(asked: Asked) -> Combinable:
    """When a row was made, only if that decides whether it counts, because reading times takes a fifth of the whole time."""
    return F("created_at") if asked.before_reasoning else Value(0)


def _read_openings(asked: Asked) -> dict[tuple[str, str], datetime.datetime]:
    """When each coder first opened reasoning of a thread, by her name and the thread's id."""
    openings = StageOpening.objects.filter(_within(asked, "turn__interview"))
    return read_first_openings(openings, coder="coder__username", thread="turn__interview__external_id")


def _read_links(asked: Asked, found: Found, coded: _Coded, places: Mapping[int, tuple[str, int]]) -> None:
    """The links of the codings that were read: blind ones by the same rule as codings, or active ones."""
    threads = {each.id: each.thread for each in found.records.codings} if coded.openings else {}
    first_made = _read_first_made(asked) if coded.openings else {}
    links = Link.objects.blind() if asked.is_blind else Link.objects.active()
    rows = links.filter(_within(asked, "coding__sentence__turn__interview")).order_by("pk")
    columns = ("pk", "coding", "kind", "code", "sentence", "sentence__turn", "sentence__turn__position")
    seen = set()
    for pk, coding, kind, code, sentence, turn, position, coder, made in rows.values_list(
        *columns, "coder__username", "created_at"
    ):
        feature = "" if code is None else found.code_book.rows[code].identifier
        # One that was withdrawn and made again, or two of features that were merged, say the same thing once.
        if coding not in coded.numbers or (coding, kind, feature, sentence) in seen:
            continue
        if saw_reasoning(coded.openings, (coder, threads.get(str(coding))), first_made.get(pk, made)):
            continue
        seen.add((coding, kind, feature, sentence))
        # A warrant of a hanging thread may stand in the thread that it hangs on, at a position of that one.
        where = position if turn is None or turn in places else None
        found.records.links.append(records.Link(str(coding), kind, feature, where))


def _read_first_made(asked: Asked) -> dict[int, datetime.datetime]:
    """When each link was first made, by its id. When a link is kept with a changed coding or moves to another sentence, a new row
    is stored at the moment when the old one is withdrawn. One query."""
    rows = Link.objects.filter(_within(asked, "coding__sentence__turn__interview")).order_by("pk")
    made: dict[int, datetime.datetime] = {}
    replaced: dict[tuple[int, str, datetime.datetime], datetime.datetime] = {}
    for pk, coder, kind, created, withdrawn in rows.values_list("pk", "coder", "kind", "created_at", "withdrawn_at"):
        made[pk] = first = replaced.get((coder, kind, created), created)
        if withdrawn is not None:
            replaced[coder, kind, withdrawn] = min(first, replaced.get((coder, kind, withdrawn), first))
    return made


def _read_decided(asked: Asked, found: Found, coded: _Coded, places: Mapping[int, tuple[str, int]]) -> None:
    """How many sentences of each turn a coder has finished, and how many of the others she has coded with each family."""
    decisions: DecisionQuerySet = Decision.objects.blind() if asked.is_blind else Decision.objects.active()
    decisions = decisions.filter(_within(asked, "sentence__turn__interview"), sentence__retired_by__isnull=True)
    columns = ("sentence__turn", "sentence", "coder__username", _when_made(asked))
    finished = set()
    for turn, sentence, coder, created in decisions.filter(_of_people(asked)).values_list(*columns):
        if not saw_reasoning(coded.openings, (coder, places[turn][0]), created):
            finished.add((turn, sentence, coder))
    numbers = Counter((turn, coder, "") for turn, _, coder in finished)
    for turn, sentence, coder, family in coded.sentences:
        if (turn, sentence, coder) not in finished:
            numbers[turn, coder, family] += 1
    for (turn, coder, family), number in sorted(numbers.items()):
        families = (family,) if family else ()
        found.records.decided.append(records.Decided(*places[turn], coder, families, number))


def _read_pairs(asked: Asked, names: Mapping[int, str]) -> list[records.Pair]:
    """The pairs whose threads are both selected; with a viewer, those that are open to her."""
    if asked.viewer is None:
        rows = list(
            Pair.objects.active().filter(is_not_masked("a"), is_not_masked("b"), study=asked.study).order_by("name")
        )
    else:
        rows = [each.pair for each in list_pairs(asked.viewer) if each.is_open and not each.is_masked]
    return [
        records.Pair(each.name, names[each.a_id], names[each.b_id], each.expect)
        for each in rows
        if each.a_id in names and each.b_id in names
    ]


def _list_scores(asked: Asked, names: Mapping[int, str]) -> tuple[list[records.Score], int]:
    """The scores, with a viewer those that she may see; and the number of determinations that are left out because their entry or
    challenge has since been removed."""
    every = visible_scores(asked.viewer) if asked.viewer else Score.objects.all()
    rows = every.blind() if asked.is_blind else every.active()
    rows = rows.filter(_within(asked, "interview")).order_by("stance", "interview", "pk")
    if asked.coders is not None:
        rows = rows.filter(coder__username__in=list(asked.coders))
    columns = ("interview", "stance__name", "stance__number", "criterion", "coder__username", "value", "turn__position")
    scores, gone = [], 0
    for interview, name, number, *judged, stands in rows.annotate(stands=has_place()).values_list(
        *columns, "feature", "stands"
    ):
        if stands:
            scores.append(records.Score(names[interview], f"{name}/{number}", *judged))
        else:
            gone += 1
    return scores, gone


def _read_scores(asked: Asked, found: Found, names: Mapping[int, str]) -> None:
    """Read the scores with their stances."""
    found.records.scores, gone = _list_scores(asked, names)
    if gone:
        found.records.warnings.append(
            f"Determinations left out because their entry or challenge has since been removed: {gone:,}."
        )
    if found.records.scores:
        stances = NormativeStance.objects.filter(study=asked.study)
        found.records.stances = {
            each.label: {"stance": each.label, **{name: getattr(each, name) for name in TEXTS_OF_STANCES}}
            for each in stances
        }


def read_score_records(viewer: Viewer) -> tuple[records.Records, int, int]:
    """The blind scores that the viewer may see, as records with their threads and the pairs that are open to her; how many other
    scores are active; and how many determinations were left out, as in `_list_scores`."""
    asked, found = Asked(viewer.study, viewer), records.Records()
    threads = list(asked.threads)
    found.threads = [records.Thread(each.external_id, _read_condition(each)) for each in threads]
    names = {each.pk: each.external_id for each in threads}
    found.pairs = _read_pairs(asked, names)
    found.scores, gone = _list_scores(asked, names)
    return found, visible_scores(viewer).active().exclude(blinding="blind").count(), gone
