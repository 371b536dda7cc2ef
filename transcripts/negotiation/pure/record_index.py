"""Records as the figures look them up: by turn, by coder and family of codes. Made in one pass over them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter

from transcripts.formats.interviews.threads import find_stage
from transcripts.negotiation.pure.records import (
    FAMILIES_OF_NEGOTIATION,
    FEATURES,
    Coding,
    Link,
    Records,
    Thread,
    Turn,
    find_family,
)

FRONT, BACK, TOOL = "front", "back", "tool"
STAGES = (FRONT, BACK, TOOL)
CONDUCT = frozenset({FRONT, TOOL})
"""What a model says and what it does with tools: where figures look, unless they are asked to look into reasoning too."""
ALL_STAGES = frozenset(STAGES)
ENACTED = "enacted"

Place = tuple[str, int]
"""A turn: its thread and its position."""

_BY_PLACE = itemgetter(Coding._fields.index("turn"), Coding._fields.index("start"), Coding._fields.index("code"))


class Work:
    """What one coder did. ``codings``: by family and thread, those of a thread in the order of its text."""

    def __init__(self, coder: str) -> None:
        self.coder = coder
        self.codings: dict[str, dict[str, list[Coding]]] = defaultdict(lambda: defaultdict(list))
        # By family, "" for all of them: how many sentences of a turn she decided.
        self._decided: dict[str, Counter[Place]] = defaultdict(Counter)
        self._threads: dict[str, set[str]] = defaultdict(set)

    def list_codings(self, family: str, thread: str) -> list[Coding]:
        """Her codings with codes of a family in a thread."""
        return self.codings[family].get(thread, []) if family in self.codings else []

    def iterate_threads(self, family: str) -> Iterable[tuple[str, list[Coding]]]:
        """The threads that she coded with a family, each with its codings."""
        return self.codings[family].items() if family in self.codings else ()

    def iterate(self, family: str) -> Iterator[Coding]:
        """Her codings with codes of a family."""
        return chain.from_iterable(self.codings[family].values()) if family in self.codings else iter(())

    def count_decided(self, family: str, place: Place) -> int:
        """How many sentences of a turn she decided for a family."""
        decided = self._decided.get("")
        number = decided[place] if decided else 0
        if family and family in self._decided:
            number += self._decided[family][place]
        return number

    def list_decided(self, family: str) -> Iterator[tuple[Place, int]]:
        """The turns of which she decided sentences for a family, and how many."""
        return chain.from_iterable(self._decided[key].items() for key in ("", family) if key in self._decided)

    def list_threads(self, family: str) -> set[str]:
        """The threads in which she coded with a family or decided for it."""
        return self._threads[""] | self._threads[family] | set(self.codings.get(family, ()))

    def add_decided(self, families: Iterable[str], place: Place, sentences: int) -> None:
        for family in families or ("",):
            self._decided[family][place] += sentences
            self._threads[family].add(place[0])


class RecordIndex:
    """All records with their indexes. ``stages``: by thread, of each turn of a model by its position "front", "back" or "tool"."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.threads: dict[str, Thread] = {thread.id: thread for thread in records.threads}
        self.stages: dict[str, dict[int, str]] = {thread.id: {} for thread in records.threads}
        self.sentences: dict[Place, int] = {}
        # By thread, the turns that are to be decided: what the model says, and where the records say so, its calls.
        self.answers: dict[str, list[Place]] = defaultdict(list)
        self.turns: dict[str, list[Turn]] = defaultdict(list)
        for turn in records.turns:
            thread, position, role, channel, sentences, is_answer = turn
            self.turns[thread].append(turn)
            if stage := find_stage(role, channel):
                self.stages[thread][position] = stage
            if sentences:
                self.sentences[thread, position] = sentences
            if is_answer if is_answer is not None else stage == FRONT:
                self.answers[thread].append((thread, position))
        for turns in self.turns.values():
            turns.sort(key=lambda turn: turn.position)
        self.links: Mapping[str, list[Link]] = _group_links(records.links)
        self.work: dict[str, Work] = {}
        self.codes: set[str] = set()
        self.family_of: dict[str, str] = {}
        self._with_enactment: set[str] = set()
        self._index_work()

    @property
    def coders(self) -> list[str]:
        """Everybody who coded, decided or scored."""
        return sorted(self.work)

    def find_stage(self, coding: Coding) -> str | None:
        """Where what was coded took place; None for what interviewers and system texts say."""
        return self.stages[coding.thread].get(coding.turn)

    def counts_as_shown(self, coding: Coding) -> bool:
        """Whether it is enacted; codes that never carry an enactment always are."""
        return coding.enactment == ENACTED or coding.code not in self._with_enactment

    def is_decided(self, work: Work, family: str, place: Place) -> bool:
        """Whether the coder was through with a turn: all its sentences, or any, where their number is not known."""
        return work.count_decided(family, place) >= (self.sentences.get(place) or 1)

    def list_threads_begun(self, work: Work, family: str) -> list[str]:
        """The threads in which a coder coded with a family or decided sentences for it, sorted.

        Where nobody's decisions are known all threads count.
        """
        return sorted(work.list_threads(family) & self.threads.keys() if self.records.decided else self.threads)

    def list_threads_read(self, work: Work, family: str) -> list[str]:
        """The threads that a coder read to the end for a family, sorted: every answer is decided.

        An entry of a feature decides its turn, for features are coded on whole turns. Only in such threads does a missing code
        say that something did not happen. Where nobody's decisions are known all threads count.
        """
        if not self.records.decided:
            return sorted(self.threads)
        entered = {(each.thread, each.turn) for each in work.iterate(FEATURES)} if family == FEATURES else set()
        return [
            thread
            for thread in self.list_threads_begun(work, family)
            if all(place in entered or self._needs_nothing(work, family, place) for place in self.answers[thread])
        ]

    def _needs_nothing(self, work: Work, family: str, place: Place) -> bool:
        """Whether a turn is decided, or has no sentence, which only records that count sentences can say."""
        return self.is_decided(work, family, place) or (bool(self.sentences) and place not in self.sentences)

    def _find_work(self, coder: str) -> Work:
        found = self.work.get(coder)
        if found is None:
            found = self.work[coder] = Work(coder)
        return found

    def _index_work(self) -> None:
        records, work = self.records, self.work
        places: dict[tuple[str, str, str, str], dict[str, list[Coding]]] = {}
        for coding in records.codings:
            _, thread, _, _, coder, code, enactment, _, named = coding
            key = coder, code, enactment, named
            place = places.get(key)
            # What is the same for all codings of a code by a coder is done for the first of them.
            if place is None:
                family = find_family(coding)
                place = places[key] = self._find_work(coder).codings[family]
                self.family_of.setdefault(code, family)
                self.codes.add(code)
                if enactment:
                    self._with_enactment.add(code)
            place[thread].append(coding)
        for decided in records.decided:
            theirs = self._find_work(decided.coder)
            theirs.add_decided(decided.families, (decided.thread, decided.turn), decided.sentences)
        for score in records.scores:
            self._find_work(score.coder)
        for theirs in work.values():
            for family in FAMILIES_OF_NEGOTIATION & theirs.codings.keys():
                for codings in theirs.codings[family].values():
                    if len(codings) > 1:
                        codings.sort(key=_BY_PLACE)


def _group_links(links: Iterable[Link]) -> Mapping[str, list[Link]]:
    grouped: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        grouped[link.coding].append(link)
    return dict(grouped)
