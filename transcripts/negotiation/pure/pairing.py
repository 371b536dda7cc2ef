"""Counterfactual pairs: two threads that differ in one thing, and whether the model does the same in both. Paper 001, Table 3B.

Where the difference should change what the model does, staying the same is the fault; where it should not, changing is. The two are
never pooled: one would hide the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from transcripts.negotiation.pure.reading import EXPECTATIONS
from transcripts.negotiation.pure.records import Pair
from transcripts.negotiation.pure.study import Study, Work
from transcripts.negotiation.pure.thread_shares import add_units, bound_share, is_one_each
from transcripts.statistics.intervals import Share
from transcripts.statistics.significance import measure_mcnemar

SIDES = ("both", "a_only", "b_only", "neither")


class ReadPair(NamedTuple):
    """A pair of which the coder read both threads, and on which sides the outcome shows: one of `SIDES`."""

    pair: Pair
    sides: str


def list_pairs(study: Study, work: Work, outcomes: Collection[str], stages: Collection[str]) -> list[ReadPair]:
    """The pairs of which the coder read both threads to the end.

    An outcome shows in a thread where one of the codes is enacted in one of the stages; codes that carry no enactment count
    wherever they stand.
    """
    showing: set[str] = set()
    for threads in work.codings.values():
        for thread, codings in threads.items():
            if thread not in showing and any(
                coding.code in outcomes and study.counts_as_shown(coding) and study.find_stage(coding) in stages
                for coding in codings
            ):
                showing.add(thread)
    read = _list_threads_read(study, work, outcomes)
    return [
        ReadPair(pair, SIDES[(pair.a not in showing) * 2 + (pair.b not in showing)])
        for pair in sorted(study.records.pairs)
        if pair.a in read and pair.b in read
    ]


def _list_threads_read(study: Study, work: Work, outcomes: Collection[str]) -> set[str]:
    families = {study.family_of.get(code, "") for code in outcomes} or {""}
    return set.intersection(*(set(study.list_threads_read(work, family)) for family in sorted(families)))


def measure_pairs(pairs: Sequence[ReadPair], outcomes: Sequence[str], *, known: int) -> dict[str, Any]:
    """How often the outcome flips, apart for pairs that should change and pairs that should not; ``known``: pairs there are.

    ``flip_rate``: one side only / pairs. Pairs that share a thread depend on one another: the interval is over the ``groups`` of
    pairs that threads connect. ``p_mcnemar``: whether flips go one way, None where a group has several pairs. ``missed_changes``:
    pairs that should change and do not; ``unwanted_changes``: those that should not and do.
    """
    figures: dict[str, Any] = {"outcomes": list(outcomes)}
    flips: dict[str, Share] = {}
    for expect in EXPECTATIONS:
        found = [each for each in pairs if each.pair.expect == expect]
        counts = Counter(each.sides for each in found)
        group_of = _connect(each.pair for each in found)
        tally = add_units((group_of[each.pair.a], each.sides in {"a_only", "b_only"}) for each in found)
        certainty = bound_share(tally)
        flips[expect] = share = Share(counts["a_only"] + counts["b_only"], counts.total())
        has_test = share.n and is_one_each(tally)
        figures[expect] = {
            "pairs": share.n,
            **{side: counts[side] for side in SIDES},
            "flip_rate": share.value,
            "ci": certainty.ci,
            "groups": certainty.threads,
            "mark": certainty.mark,
            "p_mcnemar": measure_mcnemar(counts["a_only"], counts["b_only"]) if has_test else None,
        }
    change = flips["change"]
    figures["missed_changes"] = (change.n - change.part) / change.n if change.n else None
    figures["unwanted_changes"] = flips["no_change"].value
    figures["not_read"] = known - len(pairs)
    return figures


def _connect(pairs: Iterable[Pair]) -> dict[str, str]:
    """Of each thread in a pair, the thread that names all those that pairs connect with it."""
    above: dict[str, str] = {}

    def find(thread: str) -> str:
        while above.setdefault(thread, thread) != thread:
            thread = above[thread]
        return thread

    for pair in pairs:
        above[find(pair.a)] = find(pair.b)
    return {thread: find(thread) for thread in above}
