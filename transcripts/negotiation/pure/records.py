"""The threads of a study and people's work on them, from a file or a database. Every figure of negotiation comes from them.

A file is the export ``trajectories``: JSON lines, each with ``record``. Turns are identified by their position in the thread,
codes by their identifiers, people by their names. ``RecordIndex`` indexes the records for the figures: by turn, by coder and
family of codes; it is made in one pass over them.

Shares have intervals. Units of one thread depend on one another, so the thread is the unit of evidence: intervals are over
threads, and "few" counts threads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from transcripts.codebook.pure.checking import FEATURE_FAMILY, is_feature
from transcripts.formats.interviews.threads import find_stage
from transcripts.statistics.figures import MIN_CLUSTERS, Interval, Mark, Share, mark_clusters, newcombe_interval


class Thread(NamedTuple):
    """``condition``: the one under which it was held, "" if not stated. ``relevant`` and ``irrelevant``: the features that its
    case sheet lists; both are empty where it has none. ``intents``: what the interviewer meant her turns to be, by their
    positions. ``kind``: interview or trajectory; ``model``: its label. Both are "" if not stated.
    """

    id: str
    condition: str = ""
    relevant: tuple[str, ...] = ()
    irrelevant: tuple[str, ...] = ()
    intents: tuple[tuple[int, str], ...] = ()
    kind: str = ""
    model: str = ""


class Turn(NamedTuple):
    """``role``, ``channel`` and ``is_answer`` as ``corpus.Turn`` has them; ``is_answer`` is None if not stated. ``sentences``: the
    number of sentences to decide, 0 if not stated.
    """

    thread: str
    position: int
    role: str
    channel: str
    sentences: int = 0
    is_answer: bool | None = None


class Coding(NamedTuple):
    """``start``: of the quote, or else of the sentence, in code points of the turn. ``family``: the code's family, if stated;
    otherwise `find_family` derives the families of the built-in codebook from the code.
    """

    id: str
    thread: str
    turn: int
    start: int
    coder: str
    code: str
    enactment: str = ""
    attributes: Mapping[str, str] = {}
    family: str = ""


class Link(NamedTuple):
    """What a coding acts on (``code``), rests on or revises (``turn`` of the sentence)."""

    coding: str
    kind: str
    code: str = ""
    turn: int | None = None


class Pair(NamedTuple):
    """Threads ``a`` and ``b``, of which the outcome is expected to differ ("change") or not ("no_change")."""

    name: str
    a: str
    b: str
    expect: str


class Score(NamedTuple):
    """A value of ``None`` is not applicable, or unclear. ``turn`` and ``feature`` are of a determination."""

    thread: str
    stance: str
    criterion: str
    coder: str
    value: int | None
    turn: int | None = None
    feature: str = ""


class Decided(NamedTuple):
    """That somebody has decided a sentence of a turn, or ``sentences`` of them. ``families``: for which families of codes; all,
    where it is empty."""

    thread: str
    turn: int
    coder: str
    families: tuple[str, ...] = ()
    sentences: int = 1


@dataclass
class Records:
    """All records, in the order in which they were read. ``stances``: what is known about each stance, by its label."""

    threads: list[Thread] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    codings: list[Coding] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    stances: dict[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


CRITERIA: Sequence[str] = ("features", "moves", "consistency", "answerability")
"""The criteria by which a thread is scored, from 0 to ``MAX_VALUE``."""
MAX_VALUE = 3
ALPHAS = ("alpha_ordinal", "alpha_nominal", "alpha_interval", "alpha_missing")
"""The keys under which a report gives the agreement on a criterion."""
STATUSES: Sequence[str] = ("silently assumed", "hypothesised", "elicited", "supported", "revised", "dropped")
"""The statuses in which a turn can leave a feature: the choices of the question ``status``."""

MOVES, CHALLENGES, RESPONSES, FAILURES = "moves", "challenges", "responses", "failure_modes"
FEATURES = FEATURE_FAMILY
FAMILIES_OF_NEGOTIATION = frozenset({MOVES, FEATURES, CHALLENGES, RESPONSES})
"""What is coded of a negotiation, turn by turn."""
_FAMILIES = {"move": MOVES, "feature": FEATURES, "challenge": CHALLENGES, "response": RESPONSES, "failure": FAILURES}


def find_family(coding: Coding) -> str:
    """The family of the coding's code: the one stated or, without one, by the first part of the code; "" if that is not known.

    A feature in another family counts among the features.
    """
    if is_feature(coding.code, coding.family):
        return FEATURES
    return coding.family or _FAMILIES.get(coding.code.partition(".")[0], "")


FRONT, BACK, TOOL = "front", "back", "tool"
STAGES = (FRONT, BACK, TOOL)
CONDUCT = frozenset({FRONT, TOOL})
"""What a model says and its use of tools: the stages that figures cover, unless reasoning is included on request."""
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
        """The stage of the coded words; None for those of interviewers and system texts."""
        return self.stages[coding.thread].get(coding.turn)

    def counts_as_shown(self, coding: Coding) -> bool:
        """Whether the coding is enacted; a code that never carries an enactment always counts as enacted."""
        return coding.enactment == ENACTED or coding.code not in self._with_enactment

    def is_decided(self, work: Work, family: str, place: Place) -> bool:
        """Whether the coder has decided a turn: all its sentences or, if their number is not known, any of them."""
        return work.count_decided(family, place) >= (self.sentences.get(place) or 1)

    def list_threads_begun(self, work: Work, family: str) -> list[str]:
        """The threads in which a coder applied codes of a family or decided sentences for it, sorted.

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
        """Whether a turn is decided or has no sentence; the latter is known only if the records count sentences."""
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


Tally = Mapping[str, tuple[int, int]]
"""For each thread, how many units count, and out of how many. Connected threads may be entered as one."""


class Certainty(NamedTuple):
    """``ci``: the 95 % interval, None where there is none. ``threads``: the number of threads, which decides the ``mark``."""

    ci: list[float] | None
    threads: int
    mark: Mark | None

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def sum_up(tally: Tally) -> Share:
    """The share over the units of all threads, so that a thread weighs as much as it has units."""
    return Share(sum(part for part, _ in tally.values()), sum(n for _, n in tally.values()))


def bound_share(tally: Tally) -> Certainty:
    """The certainty of the share of a tally. Threads without a unit do not count; with fewer than three others, no interval.

    If each thread has one unit, the interval is Wilson's; otherwise it is that of a share over clusters.
    """
    used = [counts for counts in tally.values() if counts[1]]
    if not is_one_each(tally) and len(used) >= MIN_CLUSTERS:
        from transcripts.statistics.resampling import average_clusters

        share = average_clusters(*zip(*used, strict=True))
        return _describe(share.interval if share else None, len(used))
    return _describe(sum_up(tally).interval, len(used))


def bound_difference(first: Tally, second: Tally) -> Certainty:
    """The certainty of the share of one tally minus that of another; both may cover the same threads.

    ``threads`` are those of the tally that has fewer. If no thread has two units, the interval is Newcombe's; otherwise it is
    the hybrid of two intervals of shares over clusters, which allows for the correlation of the shares in the threads.
    """
    threads = min(sum(1 for _, n in tally.values() if n) for tally in (first, second))
    if is_one_each(first, second) or threads < MIN_CLUSTERS:
        return _describe(newcombe_interval(*sum_up(first), *sum_up(second)), threads)
    from transcripts.statistics.resampling import average_clusters, correlate_shares, subtract_shares

    counts = [(*first.get(each, (0, 0)), *second.get(each, (0, 0))) for each in {**first, **second}]
    columns = list(zip(*counts, strict=True))
    shares = average_clusters(*columns[:2]), average_clusters(*columns[2:])
    return _describe(subtract_shares(*shares, correlate_shares(*columns)).interval, threads)


def _describe(interval: Interval | None, threads: int) -> Certainty:
    ends = [*interval] if interval and threads >= MIN_CLUSTERS else None
    return Certainty(ends, threads, mark_clusters(threads) if threads else None)


def is_one_each(*tallies: Tally) -> bool:
    """Whether no thread has more than one unit, in all tallies together: then units are as independent as threads."""
    units: dict[str, int] = {}
    for tally in tallies:
        for thread, (_, n) in tally.items():
            units[thread] = units.get(thread, 0) + n
    return all(n <= 1 for n in units.values())


def add_units(units: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """The tally of units by thread, each with whether it counts."""
    tally: dict[str, tuple[int, int]] = {}
    for thread, counts in units:
        part, n = tally.get(thread, (0, 0))
        tally[thread] = part + counts, n + 1
    return tally
