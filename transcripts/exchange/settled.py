"""What is settled of threads: the blind codings on which coders agree, or that hold by an adjudication.

A unit (a sentence, or a turn) is settled for a family of codes where it was adjudicated for one reading or another one, or where
at least two coders decided it and read the same. Where both readings stand, where the definition is at fault, and where one
coder read alone, nothing is settled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.agreement.queries import Selection, find_active
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Sentence
from transcripts.negotiation.pure.episodes import Episode, list_episodes
from transcripts.negotiation.pure.records import FAMILIES_OF_NEGOTIATION, Coding, Decided, Link, Records
from transcripts.negotiation.pure.study import CONDUCT, Study
from transcripts.negotiation.queries import records
from transcripts.studies.models import Project

ADJUDICATED, AGREED = "adjudicated", "agreed"
NOBODY = ""
"""Whose the settled codings are, for what is computed from a coder's."""


class SettledCoding(NamedTuple):
    """A code that holds on a sentence, or on the turn that it begins. Of its values and ``links`` only those are kept on which
    the coders whose reading holds agree."""

    coding: Coding
    sentence: int
    links: tuple[Link, ...]
    is_adjudicated: bool


class _Unit(NamedTuple):
    """A settled unit: its first sentence, the codes that hold, and whose readings they are."""

    sentence: int
    codes: tuple[str, ...]
    coders: tuple[int, ...]
    is_adjudicated: bool


@dataclass
class Settled:
    """``study``: everything that people did on the threads. ``open_units``: of each thread, how many units were decided and are
    not settled. ``codings``: by thread and turn, in the order of the text."""

    study: Study
    codings: Mapping[tuple[str, int], list[SettledCoding]]
    open_units: Counter[str] = field(default_factory=Counter)
    episodes: Sequence[Episode] = ()
    threads: set[str] = field(default_factory=set)

    def list_at(self, thread: str, turn: int) -> list[SettledCoding]:
        """What holds in a turn."""
        return self.codings.get((thread, turn), [])

    def has(self, thread: str) -> bool:
        """Whether anything of the thread is settled, or was scored."""
        return thread in self.threads


def read_settled(project: Project, interviews: Collection[int]) -> Settled:
    """What is settled of these interviews. Blind readings of people alone are read."""
    found = records.read(records.Asked(project, interviews=interviews))
    places = _read_places(interviews)
    by_place: dict[tuple[int, str], list[Coding]] = defaultdict(list)
    for coding in found.records.codings:
        by_place[found.sentences[coding.id], coding.code].append(coding)
    study = Study(found.records)
    names = dict(User.objects.filter(username__in=study.coders).values_list("pk", "username"))
    settled: dict[tuple[str, int], list[SettledCoding]] = defaultdict(list)
    decided: list[Decided] = []
    open_units: Counter[str] = Counter()
    threads = {score.thread for score in found.records.scores}
    for family in _list_families(project):
        for unit in _list_units(project, family, interviews):
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
                links = _share_links(study, held)
                settled[thread, turn.position].append(SettledCoding(coding, unit.sentence, links, unit.is_adjudicated))
    for codings in settled.values():
        codings.sort(key=lambda each: (each.coding.start, each.coding.family, each.coding.code))
    return Settled(study, settled, open_units, _list_episodes(found.records, settled, decided), threads)


def _list_families(project: Project) -> list[CodeFamily]:
    """The families of the codebook as it is now that negotiation is read by."""
    version = current_version(project)
    if version is None:
        return []
    families = version.families.filter(identifier__in=FAMILIES_OF_NEGOTIATION).exclude(unit=CodeFamily.Unit.INTERVIEW)
    return list(families.order_by("position"))


def _list_units(project: Project, family: CodeFamily, interviews: Collection[int]) -> Iterator[_Unit]:
    """The units of a family that somebody decided; those that are not settled have no coders."""
    import numpy as np

    from transcripts.agreement.reading import read_table

    active = find_active(project, family.identifier)
    known = set(Code.objects.filter(family=family).values_list("identifier", flat=True))
    table = read_table(project, Selection(family), interviews=interviews)
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
    """What holds by a decision. Codes that the codebook has no more leave the unit open."""
    if decision.outcome not in {Adjudication.Outcome.ONE, Adjudication.Outcome.NEITHER} or set(decision.codes) - set(
        known
    ):
        return _Unit(decision.sentence_id, (), (), is_adjudicated=True)
    chosen = decision.chosen_coder_id
    coders = tuple(readings) if chosen is None else (chosen,)
    return _Unit(decision.sentence_id, tuple(decision.codes), coders, is_adjudicated=True)


def _join(held: Sequence[Coding], family: CodeFamily, code: str, thread: str, turn: _Place) -> Coding:
    """One coding with the values that all of these have; a code that none of them applied has none."""
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


def _share_links(study: Study, held: Sequence[Coding]) -> tuple[Link, ...]:
    """The links that all of these codings have: the same kind to the same feature, or to the same turn."""
    found = [{(each.kind, each.code, each.turn) for each in study.links.get(coding.id, ())} for coding in held]
    shared = set.intersection(*found) if found else set()
    return tuple(Link(NOBODY, *each) for each in sorted(shared, key=str))


def _list_episodes(
    read: Records, settled: Mapping[tuple[str, int], Iterable[SettledCoding]], decided: list[Decided]
) -> list[Episode]:
    """The episodes of what is settled, as those of a coder are found."""
    codings = [each.coding for found in settled.values() for each in found]
    study = Study(Records(threads=read.threads, turns=read.turns, codings=codings, decided=decided))
    return list_episodes(study, study.work[NOBODY], CONDUCT) if NOBODY in study.work else []


class _Place(NamedTuple):
    """Where a sentence stands: the position of its turn, its start there, and how many sentences the turn has."""

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
    """How many sentences a settled unit is."""
    return turn.sentences if family.unit == CodeFamily.Unit.TURN else 1
