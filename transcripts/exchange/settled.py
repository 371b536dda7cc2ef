"""Settled codings of threads: blind codings on which coders agree, or that an adjudication upheld.

A unit (a sentence, or a turn) is settled for a family of codes if an adjudication chose one reading or another one, or if at
least two coders decided it and agree. If both readings stand, if the definition is at fault, or if only one coder read it, it
is not settled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.agreement.queries import Selection, find_active, list_families
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.models import Coding as CodingRow
from transcripts.corpus.models import Consent, Interview, Relation, Sentence, Turn
from transcripts.corpus.queries import list_consenting, list_scopes
from transcripts.exchange.rows import Scope
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.tabular import encode_json
from transcripts.negotiation.models import Score
from transcripts.negotiation.pure.episodes import Episode, list_episodes
from transcripts.negotiation.pure.records import (
    CONDUCT,
    CRITERIA,
    FAMILIES_OF_NEGOTIATION,
    Coding,
    Decided,
    Link,
    RecordIndex,
    Records,
)
from transcripts.negotiation.queries import records
from transcripts.negotiation.queries.scores import read_code_book
from transcripts.studies.models import Study

ADJUDICATED, AGREED = "adjudicated", "agreed"
NOBODY = ""
"""The coder's name for settled codings, for figures that are computed per coder."""


class SettledCoding(NamedTuple):
    """A settled code on a sentence, or on the turn that it begins. Only those values and ``links`` are kept on which the coders of
    the settled reading agree."""

    coding: Coding
    sentence: int
    links: tuple[Link, ...]
    is_adjudicated: bool


class _Unit(NamedTuple):
    """A settled unit: its first sentence, its codes, and the coders of that reading."""

    sentence: int
    codes: tuple[str, ...]
    coders: tuple[int, ...]
    is_adjudicated: bool


@dataclass
class Settled:
    """``study``: all work on the threads. ``open_units``: for each thread, the number of units that were decided but are not
    settled. ``codings``: by thread and turn, in the order of the text."""

    index: RecordIndex
    codings: Mapping[tuple[str, int], list[SettledCoding]]
    open_units: Counter[str] = field(default_factory=Counter)
    episodes: Sequence[Episode] = ()
    threads: set[str] = field(default_factory=set)

    def list_at(self, thread: str, turn: int) -> list[SettledCoding]:
        """The settled codings in a turn."""
        return self.codings.get((thread, turn), [])

    def has(self, thread: str) -> bool:
        """Whether anything of the thread is settled, or was scored."""
        return thread in self.threads


def read_settled(study: Study, interviews: Collection[int]) -> Settled:
    """The settled codings of these interviews. Only people's blind readings are read."""
    found = records.read(records.Asked(study, interviews=interviews))
    places = _read_places(interviews)
    by_place: dict[tuple[int, str], list[Coding]] = defaultdict(list)
    for coding in found.records.codings:
        by_place[found.sentences[coding.id], coding.code].append(coding)
    index = RecordIndex(found.records)
    names = dict(User.objects.filter(username__in=index.coders).values_list("pk", "username"))
    settled: dict[tuple[str, int], list[SettledCoding]] = defaultdict(list)
    decided: list[Decided] = []
    open_units: Counter[str] = Counter()
    threads = {score.thread for score in found.records.scores}
    for family in list_families(study):
        if family.identifier not in FAMILIES_OF_NEGOTIATION or family.unit == CodeFamily.Unit.INTERVIEW:
            continue
        for unit in _list_units(study, family, interviews):
            thread, turn = places[unit.sentence]
            if not unit.coders:
                open_units[thread] += 1
                continue
            threads.add(thread)
            decided.append(Decided(thread, turn.position, NOBODY, (family.identifier,), _count(family, turn)))
            for code in unit.codes:
                held = [
                    each for each in by_place[unit.sentence, code] if each.coder in {names[pk] for pk in unit.coders}
                ]
                coding = _join(held, family, code, thread, turn)
                links = _share_links(index, held)
                settled[thread, turn.position].append(SettledCoding(coding, unit.sentence, links, unit.is_adjudicated))
    for codings in settled.values():
        codings.sort(key=lambda each: (each.coding.start, each.coding.family, each.coding.code))
    return Settled(index, settled, open_units, _list_episodes(found.records, settled, decided), threads)


def _list_units(study: Study, family: CodeFamily, interviews: Collection[int]) -> Iterator[_Unit]:
    """The units of a family that somebody decided; unsettled ones have no coders."""
    import numpy as np

    from transcripts.agreement.label_tables import read_table

    active = find_active(study, family.identifier)
    known = set(Code.objects.filter(family=family).values_list("identifier", flat=True))
    table = read_table(study, Selection(family), interviews=interviews)
    for place in np.flatnonzero(table.decided.any(axis=0)):
        sentence, readings = int(table.sentence_ids[place]), table.list_readings(int(place))
        decision = active.get(sentence)
        if decision is not None:
            yield _read_decision(decision, readings, known)
        elif len(readings) > 1 and len({frozenset(codes) for codes in readings.values()}) == 1:
            yield _Unit(sentence, next(iter(readings.values())), tuple(readings), is_adjudicated=False)
        else:
            yield _Unit(sentence, (), (), is_adjudicated=False)


def _read_decision(decision: Adjudication, readings: Mapping[int, tuple[str, ...]], known: Collection[str]) -> _Unit:
    """The result of a decision. If the codebook no longer has its codes, the unit is open."""
    if decision.outcome not in {Adjudication.Outcome.ONE, Adjudication.Outcome.NEITHER} or set(decision.codes) - set(
        known
    ):
        return _Unit(decision.sentence_id, (), (), is_adjudicated=True)
    chosen = decision.chosen_coder_id
    coders = tuple(readings) if chosen is None else (chosen,)
    return _Unit(decision.sentence_id, tuple(decision.codes), coders, is_adjudicated=True)


def _join(held: Sequence[Coding], family: CodeFamily, code: str, thread: str, turn: _Place) -> Coding:
    """One coding with the values that all of these share; a code that none of them applied has no values."""
    enactments = {each.enactment for each in held}
    keys = set.intersection(*(set(each.attributes) for each in held)) if held else set()
    attributes = {
        key: held[0].attributes[key] for key in sorted(keys) if len({each.attributes[key] for each in held}) == 1
    }
    start = min((each.start for each in held), default=turn.start)
    enactment = enactments.pop() if len(enactments) == 1 else ""
    return Coding(
        f"{thread}:{turn.position}:{turn.sentence}:{code}",
        thread,
        turn.position,
        start,
        NOBODY,
        code,
        enactment,
        attributes,
        family.identifier,
    )


def _share_links(index: RecordIndex, held: Sequence[Coding]) -> tuple[Link, ...]:
    """The links that all of these codings share: the same kind to the same feature, or to the same turn."""
    found = [{(each.kind, each.code, each.turn) for each in index.links.get(coding.id, ())} for coding in held]
    shared = set.intersection(*found) if found else set()
    return tuple(Link(NOBODY, *each) for each in sorted(shared, key=str))


def _list_episodes(
    read: Records, settled: Mapping[tuple[str, int], Iterable[SettledCoding]], decided: list[Decided]
) -> list[Episode]:
    """The episodes of the settled codings, found in the same way as those of a coder."""
    codings = [each.coding for found in settled.values() for each in found]
    index = RecordIndex(Records(threads=read.threads, turns=read.turns, codings=codings, decided=decided))
    return list_episodes(index, index.work[NOBODY], CONDUCT) if NOBODY in index.work else []


class _Place(NamedTuple):
    """The place of a sentence: the position of its turn, its start there, and how many sentences the turn has."""

    position: int
    sentence: int
    start: int
    sentences: int


def _read_places(interviews: Collection[int]) -> dict[int, tuple[str, _Place]]:
    rows = Sentence.objects.current().filter(turn__interview__in=interviews)
    columns = ("pk", "turn", "turn__interview__external_id", "turn__position", "start")
    found = list(rows.order_by().values_list(*columns))
    sentences = Counter(turn for _, turn, *_ in found)
    return {pk: (thread, _Place(position, pk, start, sentences[turn])) for pk, turn, thread, position, start in found}


def _count(family: CodeFamily, turn: _Place) -> int:
    """The number of sentences in a settled unit."""
    return turn.sentences if family.unit == CodeFamily.Unit.TURN else 1


Given = Mapping[tuple[str, str], int]
"""The values of a thread, by criterion and coder."""
Line = dict[str, Any]


class Preference(NamedTuple):
    """``sign``: 1 where the first thread is preferred, -1 where the second is, 0 where neither is. ``means``: by criterion, of
    the first and of the second."""

    sign: int
    means: dict[str, tuple[float, float]]


def find_preference(first: Given, second: Given) -> Preference | None:
    """Compare two threads by the people who scored both on a criterion; ``None`` if their scores do not differ.

    A thread is preferred if its mean is higher on a criterion, and lower on none. Criteria are never added up, because their
    weights are not known.
    """
    both: dict[str, list[tuple[int, int]]] = {}
    for key in sorted(first.keys() & second.keys()):
        both.setdefault(key[0], []).append((first[key], second[key]))
    means = {
        criterion: (fmean(one for one, _ in given), fmean(other for _, other in given))
        for criterion, given in both.items()
    }
    signs = {(one > other) - (one < other) for one, other in means.values()} - {0}
    if not signs:
        return None
    return Preference(signs.pop() if len(signs) == 1 else 0, means)


class NoDemonstrations(Exception):
    """A sentence for the person who asked."""


def write_demonstrations(scope: Scope, path: Path) -> int:
    """Write the records; returns how many. Raises ``NoDemonstrations`` for one person's rows, as there are none.

    JSON lines, each with ``record``: first what is in the file and what is left out, then the normative stances, every thread
    with its turns, and preferences between two threads. It contains only threads with consent to reuse, and only people's blind
    codings on which coders agree or that were adjudicated; machines' labels are never read.
    """
    if scope.only is not None:
        raise NoDemonstrations(
            "Demonstrations contain what coders settled together, so there are no rows of one person. Export all rows."
        )
    with path.open("w", encoding="utf-8", newline="\n") as file:
        written = 0
        for line in _list_records(scope):
            file.write(encode_json(line) + "\n")
            written += 1
            scope.watch(written, 0)
    return written


def find_threads(scope: Scope) -> set[int]:
    """The threads that people coded for negotiation, or scored."""
    book = read_code_book(scope.study)
    codes = [pk for pk, row in book.rows.items() if row.family in FAMILIES_OF_NEGOTIATION]
    interviews = scope.study.interviews.filter(scope.within()).order_by()
    coded = CodingRow.objects.blind().filter(code__in=codes, sentence__turn__interview__in=interviews.values("pk"))
    scored = Score.objects.blind().filter(interview__in=interviews.values("pk"))
    return {
        *coded.order_by().values_list("sentence__turn__interview", flat=True).distinct(),
        *scored.order_by().values_list("interview", flat=True).distinct(),
    }


def _list_records(scope: Scope) -> Iterator[Line]:
    found = find_threads(scope)
    allowed = list_consenting(found, Consent.Scope.REUSE)
    settled = read_settled(scope.study, allowed)
    interviews = [
        each
        for each in Interview.objects.filter(pk__in=allowed).select_related("hangs_on__interview").order_by("pk")
        if settled.has(each.external_id)
    ]
    names = {each.external_id for each in interviews}
    preferences = list(_list_preferences(settled, interviews, names))
    made = [each for each in preferences if each["chosen"]]
    yield {
        "record": "demonstrations",
        "study": scope.study.slug,
        "threads": len(interviews),
        "preferences": len(made),
        "left_out": {
            "threads_without_consent": len(found) - len(allowed),
            "threads_without_anything_settled": len(allowed) - len(interviews),
            "comparisons_without_order": len(preferences) - len(made),
        },
    }
    stances = settled.index.records.stances
    used = {score.stance for score in settled.index.records.scores if score.thread in names}
    yield from ({"record": "stance", **stances[label]} for label in sorted(used))
    for interview in interviews:
        yield _describe_thread(interview, settled, names)
    yield from made


def _describe_thread(interview: Interview, settled: Settled, names: set[str]) -> Line:
    thread, turn = interview.external_id, interview.hangs_on
    hangs_on = None
    if turn is not None and turn.interview.external_id in names:
        hangs_on = {"thread": turn.interview.external_id, "turn": turn.position}
    return {
        "record": "thread",
        "thread": thread,
        "title": interview.title,
        "kind": interview.kind,
        "relation": interview.relation,
        "hangs_on": hangs_on,
        "beginning_left_out": turn is not None and hangs_on is None,
        "model": interview.model_label,
        "consent": _describe_consent(interview),
        "not_settled": settled.open_units[thread],
        "turns": [_describe_turn(thread, each, settled) for each in interview.turns.order_by("position")],
        "episodes": [
            {
                "turn": each.turn,
                "kind": each.kind,
                "outcome": each.outcome,
                "answers": list(each.answers),
                "explained": each.is_explained,
            }
            for each in settled.episodes
            if each.thread == thread
        ],
        "scores": [
            {
                "stance": each.stance,
                "criterion": each.criterion,
                "value": each.value,
                "turn": each.turn,
                "feature": each.feature,
                "coder": each.coder,
            }
            for each in settled.index.records.scores
            if each.thread == thread
        ],
    }


def _describe_consent(interview: Interview) -> Line:
    """The consent in each scope, and the basis of the latest record, which for reuse serves as a licence."""
    bases = dict(interview.consents.order_by("pk").values_list("scope", "basis"))
    return {
        each["scope"]: {"state": each["state"], "basis": bases.get(each["scope"], "")}
        for each in list_scopes(interview)
    }


def _describe_turn(thread: str, turn: Turn, settled: Settled) -> Line:
    return {
        "position": turn.position,
        "role": turn.role,
        "channel": turn.channel,
        "stage": find_stage(turn.role, turn.channel),
        "speaker": turn.speaker,
        "text": turn.text,
        "codings": [_describe_coding(each) for each in settled.list_at(thread, turn.position)],
    }


def _describe_coding(settled: SettledCoding) -> Line:
    coding = settled.coding
    return {
        "family": coding.family,
        "code": coding.code,
        "settled": ADJUDICATED if settled.is_adjudicated else AGREED,
        "sentence_id": settled.sentence,
        "start": coding.start,
        "enactment": coding.enactment,
        "status": coding.attributes.get("status", ""),
        "attributes": dict(coding.attributes),
        "links": [{"kind": each.kind, "feature": each.code, "turn": each.turn} for each in settled.links],
    }


class _Compared(NamedTuple):
    """Two threads that can be compared, and why."""

    a: str
    b: str
    because: Line


def _list_preferences(settled: Settled, interviews: Sequence[Interview], names: set[str]) -> Iterator[Line]:
    """Every comparison of two threads that the same people scored differently under one normative stance; ``chosen`` is empty if
    neither is preferred."""
    values: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for score in settled.index.records.scores:
        if score.criterion in CRITERIA and score.value is not None:
            values[score.stance, score.thread][score.criterion, score.coder] = score.value
    stances = sorted({stance for stance, _ in values})
    for a, b, because in _list_compared(settled, interviews, names):
        for stance in stances:
            found = find_preference(values.get((stance, a), {}), values.get((stance, b), {}))
            if found is not None:
                chosen, rejected = ("", "") if not found.sign else (a, b) if found.sign > 0 else (b, a)
                yield {
                    "record": "preference",
                    "stance": stance,
                    "chosen": chosen,
                    "rejected": rejected,
                    **because,
                    "criteria": {
                        name: {"chosen": max(means) if found.sign else means[0], "rejected": min(means)}
                        for name, means in found.means.items()
                    },
                }


def _list_compared(settled: Settled, interviews: Sequence[Interview], names: set[str]) -> Iterator[_Compared]:
    """The threads of each pair, and threads that diverge at one turn: its branches, and the thread itself if it continues."""
    for pair in settled.index.records.pairs:
        if {pair.a, pair.b} <= names:
            yield _Compared(pair.a, pair.b, {"pair": pair.name, "parts_at": None})
    for (parent, position), threads in sorted(_group_branches(interviews).items()):
        goes_on = parent in names and any(turn.position > position for turn in settled.index.turns[parent])
        members = [parent, *threads] if goes_on else threads
        for place, a in enumerate(members):
            for b in members[place + 1 :]:
                yield _Compared(a, b, {"pair": "", "parts_at": {"thread": parent, "turn": position}})


def _group_branches(interviews: Iterable[Interview]) -> Mapping[tuple[str, int], list[str]]:
    grouped: dict[tuple[str, int], list[str]] = defaultdict(list)
    for each in interviews:
        if each.relation == Relation.BRANCH and each.hangs_on is not None:
            grouped[each.hangs_on.interview.external_id, each.hangs_on.position].append(each.external_id)
    return grouped
