"""The feature ledger: what each thread does with each feature of its case, from the entries that one coder made.

An entry is a coding of a feature with the status in which its turn leaves the feature. What stands later follows from entries;
it is never coded. Conduct (what the model says and does with tools) and its private reasoning are two tracks. Paper 001, Table
3A and sections 4.1 and 4.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from transcripts.negotiation.pure.record_index import BACK, ENACTED, RecordIndex, Work
from transcripts.negotiation.pure.records import FEATURES, MOVES, Thread
from transcripts.negotiation.pure.thread_shares import bound_share, sum_up

ASSUMED, SUPPORTED, REVISED, DROPPED = "silently assumed", "supported", "revised", "dropped"
COMMITMENTS = frozenset({ASSUMED, SUPPORTED})
CHANGES = frozenset({REVISED, DROPPED})
ASKING = frozenset({"move.elicit", "move.quantify"})

CHANGED_FIRST = "changed before it was raised"
TAKEN_UP_AGAIN = "taken up again after it was dropped"
NO_STATUS = "status not said"
NO_WARRANT = "no warrant"


class Entry(NamedTuple):
    """One entry. ``status`` is "" where it is not said; ``has_warrant``: it is linked to what it rests on."""

    coding: str
    turn: int
    status: str
    has_warrant: bool = False

    @property
    def raises(self) -> bool:
        """Whether the turn brings the feature up: any status, but for what it builds on without saying so."""
        return self.status not in {"", ASSUMED}


@dataclass(slots=True)
class Track:
    """The entries of one feature in one track of a thread, in the order of the text; ``first_raised``: the turn that first raises
    it."""

    entries: list[Entry] = field(default_factory=list)
    first_raised: int | None = None

    def add(self, entry: Entry) -> None:
        """Put in the next entry of the text."""
        self.entries.append(entry)
        if self.first_raised is None and entry.raises:
            self.first_raised = entry.turn

    @property
    def last(self) -> str:
        """The status that stands at the end."""
        return self.entries[-1].status

    def is_raised_from(self, turn: int) -> bool:
        """Whether this turn or a later one raises it."""
        return any(entry.raises and entry.turn >= turn for entry in self.entries)

    def list_flags(self, *, needs_warrants: bool) -> list[str]:
        """What a reader should look at again; nothing is refused for it.

        What has been dropped is gone, so that any status after it takes it up again, a second "dropped" too. An entry without a
        status raises nothing: what is revised after it was changed before it was raised. An entry that is silently assumed needs no
        warrant: the turn says nothing that could rest on anything.
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

    ``elicit_first``: whether it asks or hedges no later than in the turn of its first commitment; None where it commits to
    nothing, in its conduct.
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
    """The ledger of a thread by one coder; the case sheet of the thread says what is relevant."""
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
    """Whether the coder says at all what entries rest on: one who never does is not told of each that it rests on nothing."""
    links = index.links
    return bool(links) and any(
        link.kind == "warrant" for coding in work.iterate(FEATURES) for link in links.get(coding.id, ())
    )


def measure_ledger(index: RecordIndex, work: Work) -> dict[str, Any]:
    """{"threads": {thread: its ledger}, "total": counts, and shares with intervals over threads} of one coder.

    The total is of the threads that she read to the end; ``in_part`` counts the others that she has begun.
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
