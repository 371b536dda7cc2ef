"""The feature ledger: how each thread treats each feature of its case, according to the entries of one coder.

An entry is a coding of a feature with the status in which its turn leaves the feature. The status in later turns is derived
from the entries and never coded. Conduct (what the model says and does with tools) and its private reasoning are two tracks.
Paper 001, Table 3A and sections 4.1 and 4.5.

The matrix of moves by features, from the links of one coder, says which features moves act on. Paper 001, section 4.1.

Agreement on the status of features is measured on entries that both coders made, never on statuses carried forward: one entry
that a coder missed would make every later state differ. Agreement on the existence of an entry has a separate coefficient.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from transcripts.negotiation.pure.records import (
    BACK,
    CONDUCT,
    ENACTED,
    FEATURES,
    MOVES,
    Coding,
    Place,
    RecordIndex,
    Thread,
    Work,
    bound_share,
    sum_up,
)

ASSUMED, SUPPORTED, REVISED, DROPPED = "silently assumed", "supported", "revised", "dropped"
COMMITMENTS = frozenset({ASSUMED, SUPPORTED})
CHANGES = frozenset({REVISED, DROPPED})
ASKING = frozenset({"move.elicit", "move.quantify"})

CHANGED_FIRST = "changed before it was raised"
TAKEN_UP_AGAIN = "taken up again after it was dropped"
NO_STATUS = "status not said"
NO_WARRANT = "no warrant"


class Entry(NamedTuple):
    """One entry. ``status`` is "" if it is not stated; ``has_warrant``: it is linked to its evidence."""

    coding: str
    turn: int
    status: str
    has_warrant: bool = False

    @property
    def raises(self) -> bool:
        """Whether the turn raises the feature: it does with any status except silently assumed."""
        return self.status not in {"", ASSUMED}


@dataclass(slots=True)
class Track:
    """The entries of one feature in one track of a thread, in the order of the text; ``first_raised``: the turn that first raises
    it."""

    entries: list[Entry] = field(default_factory=list)
    first_raised: int | None = None

    def add(self, entry: Entry) -> None:
        """Add the next entry in the order of the text."""
        self.entries.append(entry)
        if self.first_raised is None and entry.raises:
            self.first_raised = entry.turn

    @property
    def last(self) -> str:
        """The status at the end."""
        return self.entries[-1].status

    def is_raised_from(self, turn: int) -> bool:
        """Whether this turn or a later one raises it."""
        return any(entry.raises and entry.turn >= turn for entry in self.entries)

    def list_flags(self, *, needs_warrants: bool) -> list[str]:
        """Remarks about what a reader should check; nothing is refused because of them. After "dropped", any status takes the
        feature up again, even a second "dropped". An entry without a status does not raise the feature, so a later "revised" is
        flagged as changed before it was raised. A silently assumed feature needs no warrant, because the turn says nothing that
        could have one.
        """
        said = [entry.status for entry in self.entries if entry.status]
        flags = []
        if said and said[0] in CHANGES:
            flags.append(CHANGED_FIRST)
        if DROPPED in said[:-1]:
            flags.append(TAKEN_UP_AGAIN)
        if len(said) < len(self.entries):
            flags.append(NO_STATUS)
        if needs_warrants and any(entry.raises and not entry.has_warrant for entry in self.entries):
            flags.append(NO_WARRANT)
        return flags


@dataclass(slots=True)
class ThreadLedger:
    """The ledger of one thread. ``conduct`` and ``back``: tracks by feature.

    ``elicit_first``: whether it asks or hedges no later than in the turn of its first commitment; None without a commitment.
    """

    conduct: dict[str, Track]
    back: dict[str, Track]
    coverage: dict[str, int]
    elicit_first: bool | None

    def as_dict(self, *, needs_warrants: bool) -> dict[str, Any]:
        return {
            "conduct": _describe_tracks(self.conduct, needs_warrants=needs_warrants),
            "back": _describe_tracks(self.back, needs_warrants=needs_warrants),
            "coverage": self.coverage,
            "elicit_first": self.elicit_first,
        }


COUNTS = ("relevant", "raised", "assumed", "irrelevant", "over_raised", "raised_back", "disclosed")
"""``assumed``: relevant features that the conduct builds on and never raises. ``disclosed``: of the features raised in the
reasoning (``raised_back``), those raised in the conduct then or later."""

_SHARES = {
    "coverage": ("raised", "relevant"),
    "over_raising": ("over_raised", "irrelevant"),
    "disclosure": ("disclosed", "raised_back"),
    "elicit_first": ("elicited_first", "committed"),
}


def read_ledger(index: RecordIndex, work: Work, thread: str) -> ThreadLedger:
    """The ledger of one coder for a thread; the case sheet of the thread says which features are relevant."""
    conduct: dict[str, Track] = {}
    back: dict[str, Track] = {}
    stages, links = index.stages[thread], index.links
    for coding in work.list_codings(FEATURES, thread):
        stage = stages.get(coding.turn)
        if stage is None:
            continue
        tracks = back if stage == BACK else conduct
        has_warrant = coding.id in links and any(link.kind == "warrant" for link in links[coding.id])
        track = tracks.get(coding.code)
        if track is None:
            track = tracks[coding.code] = Track()
        track.add(Entry(coding.id, coding.turn, coding.attributes.get("status") or "", has_warrant))
    coverage = _count_coverage(index.threads[thread], conduct, back)
    return ThreadLedger(conduct, back, coverage, _asks_first(index, work, thread, conduct.values()))


def needs_warrants(index: RecordIndex, work: Work) -> bool:
    """Whether the coder gives evidence for any entry; if she never does, entries without evidence are not flagged."""
    links = index.links
    return bool(links) and any(
        link.kind == "warrant" for coding in work.iterate(FEATURES) for link in links.get(coding.id, ())
    )


def measure_ledger(index: RecordIndex, work: Work) -> dict[str, Any]:
    """{"threads": {thread: its ledger}, "total": counts, and shares with intervals over threads} of one coder.

    The total covers the threads that she read to the end; ``in_part`` counts those that she has only begun.
    """
    wanted = needs_warrants(index, work)
    read = set(index.list_threads_read(work, FEATURES))
    total: Counter[str] = Counter()
    tallies: dict[str, dict[str, tuple[int, int]]] = {name: {} for name in _SHARES}
    threads = {}
    for thread in index.list_threads_begun(work, FEATURES):
        ledger = read_ledger(index, work, thread)
        threads[thread] = ledger.as_dict(needs_warrants=wanted)
        if thread not in read:
            total["in_part"] += 1
            continue
        own = {
            **ledger.coverage,
            "committed": int(ledger.elicit_first is not None),
            "elicited_first": int(ledger.elicit_first is True),
        }
        total.update(own)
        for name, (part, whole) in _SHARES.items():
            tallies[name][thread] = own[part], own[whole]
    counts = {name: total[name] for name in (*COUNTS, "committed", "elicited_first", "in_part")}
    shares = {name: {"share": sum_up(tally).value, **bound_share(tally).as_dict()} for name, tally in tallies.items()}
    return {"threads": threads, "total": {**counts, **shares}}


def _describe_tracks(tracks: dict[str, Track], *, needs_warrants: bool) -> dict[str, Any]:
    return {
        feature: {
            "entries": [[entry.turn, entry.status] for entry in track.entries],
            "first_raised": track.first_raised,
            "last": track.last,
            "flags": track.list_flags(needs_warrants=needs_warrants),
        }
        for feature, track in tracks.items()
    }


def _count_coverage(thread: Thread, conduct: dict[str, Track], back: dict[str, Track]) -> dict[str, int]:
    raised = {feature for feature, track in conduct.items() if track.first_raised is not None}
    raised_back = {feature: track.first_raised for feature, track in back.items() if track.first_raised is not None}
    relevant, irrelevant = set(thread.relevant), set(thread.irrelevant)
    assumed = {
        feature
        for feature in relevant - raised
        if feature in conduct and any(entry.status == ASSUMED for entry in conduct[feature].entries)
    }
    disclosed = {
        feature for feature, turn in raised_back.items() if feature in raised and conduct[feature].is_raised_from(turn)
    }
    return {
        "relevant": len(relevant),
        "raised": len(relevant & raised),
        "assumed": len(assumed),
        "irrelevant": len(irrelevant),
        "over_raised": len(irrelevant & raised),
        "raised_back": len(raised_back),
        "disclosed": len(disclosed),
    }


def _asks_first(index: RecordIndex, work: Work, thread: str, tracks: Iterable[Track]) -> bool | None:
    commitments = [entry.turn for track in tracks for entry in track.entries if entry.status in COMMITMENTS]
    if not commitments:
        return None
    first = min(commitments)
    return any(
        coding.code in ASKING and coding.enactment == ENACTED and coding.turn <= first and index.find_stage(coding)
        for coding in work.list_codings(MOVES, thread)
    )


ACTS_ON = "acts_on"


class ActedOn(NamedTuple):
    """A move and a feature it acts on; ``has_entry``: the feature has an entry in this turn or before, in any stage."""

    move: Coding
    feature: str
    has_entry: bool


def list_moves(index: RecordIndex, work: Work, stages: Collection[str]) -> Iterator[Coding]:
    """The enacted moves in these stages."""
    for thread, codings in work.iterate_threads(MOVES):
        stage_of = index.stages[thread]
        yield from (each for each in codings if each.enactment == ENACTED and stage_of.get(each.turn) in stages)


def list_acted_on(index: RecordIndex, work: Work, move: Coding) -> list[ActedOn]:
    """The features a move acts on."""
    features = [link.code for link in index.links.get(move.id, ()) if link.kind == ACTS_ON]
    entries = work.list_codings(FEATURES, move.thread) if features else []
    there = {entry.code for entry in entries if entry.turn <= move.turn and index.find_stage(entry)}
    return [ActedOn(move, feature, feature in there) for feature in features]


def measure_links(index: RecordIndex, work: Work, stages: Collection[str]) -> dict[str, Any]:
    """Enacted moves, their links, {move: {feature: links}}, moves that act on nothing, and links to a feature without entry."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    moves = links = without_link = without_entry = 0
    for move in list_moves(index, work, stages):
        found = list_acted_on(index, work, move) if move.id in index.links else []
        moves += 1
        links += len(found)
        without_link += not found
        for each in found:
            counts[move.code][each.feature] += 1
            without_entry += not each.has_entry
    return {
        "moves": moves,
        "links": links,
        "counts": {move: dict(sorted(row.items())) for move, row in sorted(counts.items())},
        "moves_without_link": without_link,
        "links_without_entry": without_entry,
    }


Entries = dict[tuple[Place, str], str]
"""The statuses that two coders gave a feature in a turn; "" if not stated."""


def measure_entry_agreement(index: RecordIndex, coders: Sequence[str]) -> dict[str, Any]:
    """Agreement of the coders on statuses in the model's conduct, without its reasoning.

    ``units``: entries with a status that at least two coders made, and the ``threads`` that contain them; ``raw``: share of
    equal statuses, the mean over pairs of coders; ``alpha``: Krippendorff's, nominal, of all coders. ``only_first`` and
    ``only_second``: entries with a status by one of two coders where the other has no entry, or an entry without a status, in
    turns that both decided. Every pair is listed as well. ``presence``: Cohen's kappa on whether there is an entry, with a
    status or without, over the same turns, for each feature that anybody entered or a case sheet names.
    """
    entries = {coder: _list_entries(index, index.work[coder]) for coder in coders}
    features = sorted(
        {
            *(feature for found in entries.values() for _, feature in found),
            *(feature for thread in index.threads.values() for feature in (*thread.relevant, *thread.irrelevant)),
        }
    )
    decided = {coder: _list_decided(index, index.work[coder]) for coder in coders}
    pairs = [
        {
            "a": a,
            "b": b,
            **_compare(entries[a], entries[b], decided[a] & decided[b]),
            **_compare_presence(entries[a], entries[b], decided[a] & decided[b], features),
        }
        for a, b in combinations(coders, 2)
    ]
    if len(pairs) == 1:
        figures = {key: value for key, value in pairs[0].items() if key not in {"a", "b"}}
        return {"coders": list(coders), **figures, "pairs": pairs}
    rates = [pair["raw"] for pair in pairs if pair["raw"] is not None]
    units = [
        unit for unit in set().union(*entries.values()) if sum(bool(each.get(unit)) for each in entries.values()) > 1
    ]
    return {
        "coders": list(coders),
        "units": len(units),
        "threads": len({thread for (thread, _), _ in units}),
        "only_first": None,
        "only_second": None,
        "raw": sum(rates) / len(rates) if rates else None,
        "alpha": _measure_alpha(list(entries.values())),
        "presence": None,
        "pairs": pairs,
    }


def _list_entries(index: RecordIndex, work: Work) -> Entries:
    """Entries in the conduct; of several in one turn, the last one with a status."""
    entries: Entries = {}
    for thread, codings in work.iterate_threads(FEATURES):
        stages = index.stages[thread]
        for coding in codings:
            if stages.get(coding.turn) in CONDUCT:
                unit = (thread, coding.turn), coding.code
                entries[unit] = coding.attributes.get("status") or entries.get(unit, "")
    return entries


def _list_decided(index: RecordIndex, work: Work) -> set[Place]:
    """The turns of the conduct that a coder decided for features, by an entry or by finishing them; all if none is known."""
    stages = index.stages
    if not index.records.decided:
        return {(thread, turn) for thread, found in stages.items() for turn, stage in found.items() if stage in CONDUCT}
    coded = {(coding.thread, coding.turn) for coding in work.iterate(FEATURES)}
    through = {place for place, _ in work.list_decided(FEATURES) if index.is_decided(work, FEATURES, place)}
    return {(thread, turn) for thread, turn in coded | through if stages[thread].get(turn) in CONDUCT}


def _compare(one: Entries, other: Entries, turns: set[Place]) -> dict[str, Any]:
    shared = [unit for unit in one.keys() & other.keys() if one[unit] and other[unit]]
    equal = sum(one[unit] == other[unit] for unit in shared)
    return {
        "units": len(shared),
        "threads": len({thread for (thread, _), _ in shared}),
        "only_first": _count_missing(one, other, turns),
        "only_second": _count_missing(other, one, turns),
        "raw": equal / len(shared) if shared else None,
        "alpha": _measure_alpha([one, other]),
    }


def _count_missing(one: Entries, other: Entries, turns: set[Place]) -> int:
    return sum(bool(status) and not other.get(unit) and unit[0] in turns for unit, status in one.items())


def _measure_alpha(entries: Sequence[Entries]) -> float | None:
    """Nominal alpha; None if no entry was made by two coders, or if all statuses are the same."""
    import numpy as np

    from transcripts.negotiation.pure.records import STATUSES
    from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha

    number_of = {status: float(number) for number, status in enumerate(STATUSES)}
    # Units with the same statuses count together; sorted, so that rounding does not depend on the order of a set.
    # What one alone entered is in no pair.
    units = set().union(*(one.keys() & other.keys() for one, other in combinations(entries, 2)))
    columns: Counter[tuple[float, ...]] = Counter()
    for found, times in Counter(tuple([each.get(unit, "") for each in entries]) for unit in units).items():
        columns[tuple(number_of.get(status, -1.0) for status in found)] += times
    shared = sorted((column, times) for column, times in columns.items() if sum(value >= 0 for value in column) > 1)
    if not shared:
        return None
    ratings = np.repeat([column for column, _ in shared], [times for _, times in shared], axis=0).T
    ratings[ratings < 0] = np.nan
    value = float(measure_alpha(count_coincidences(ratings), Level.NOMINAL)[0])
    return None if np.isnan(value) else value


def _compare_presence(first: Entries, second: Entries, turns: set[Place], features: Sequence[str]) -> dict[str, Any]:
    from transcripts.statistics.coefficients import find_kappa

    one, other = ({unit for unit in entries if unit[0] in turns} for entries in (first, second))
    both = len(one & other)
    units = len(turns) * len(features)
    counts = (both, len(one) - both, len(other) - both, units - len(one | other))
    names = ("both", "only_first", "only_second", "neither")
    figures = {"units": units, **dict(zip(names, counts, strict=True)), "kappa": find_kappa(*counts)}
    return {"presence": figures}
