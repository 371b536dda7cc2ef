"""Moves in the threads of a sample by arm: the process beside the outcome. Paper 001, Table 4B."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.experiments.pure.effects import adjust_by_holm, compare_shares
from auditapp.experiments.pure.plans import Plan
from transcripts.agreement.pure.shares import Share
from transcripts.negotiation.pure.records import MOVES, Records
from transcripts.negotiation.pure.sequences import list_positions
from transcripts.negotiation.pure.study import CONDUCT, Study, Work


class NoSuchCoder(ValueError):
    """A coder was asked for who has read none of the threads; the message is a sentence."""


def compare_moves(
    records: Records, plan: Plan, *, arms: Mapping[str, str], names: Mapping[str, str], coder: str = ""
) -> dict[str, Any]:
    """How many threads of each arm show each move, as one coder read them.

    ``records`` are of the sample's threads, ``arms`` gives the arm of each by its id, ``names`` the moves of the codebook in its
    order. A move shows in a thread where it is enacted at least once in what the model says or does with tools. Only threads that
    the coder read to the end count: in others a missing code says nothing. Without ``coder`` it is the one who has read
    most of them, the first by name among equals.

    Returns ``readers``, how many threads each has read; ``coder``; ``read``, by arm how many threads the coder read; and
    ``effects``, by move: variant minus baseline, P by Holm over all moves, as the codebook chose them before anybody counted.
    Units of one arm were drawn with equal chances, and arms are compared, never added up: the shares need no weights. Raises
    ``NoSuchCoder``.
    """
    study = Study(records)
    read = {each: study.list_threads_read(work, MOVES) for each, work in study.work.items()}
    readers = {each: len(found) for each, found in sorted(read.items()) if found}
    chosen = _choose(readers, coder)
    threads = read.get(chosen, [])
    totals = Counter(arms[thread] for thread in threads)
    found = _count(study, study.work[chosen], threads, arms) if chosen else {}
    effects: dict[str, dict[str, Any]] = {}
    for move in [*names, *sorted(found.keys() - names.keys())] if threads else []:
        variant, baseline = (
            Share(found.get(move, Counter())[arm], totals[arm]) for arm in (plan.variant, plan.baseline)
        )
        effects[move] = {"name": names.get(move, move), **compare_shares(variant, baseline)}
    adjust_by_holm(list(effects.values()))
    return {
        "readers": readers,
        "coder": chosen,
        "read": {arm: totals[arm] for arm in plan.allocation},
        "effects": effects,
    }


def _choose(readers: Mapping[str, int], coder: str) -> str:
    if coder and coder not in readers:
        raise NoSuchCoder(
            f"{coder} has read none of the sample's threads to the end. Who has: {', '.join(readers) or 'nobody'}."
        )
    return coder or min(readers, key=lambda each: (-readers[each], each), default="")


def _count(study: Study, work: Work, threads: Sequence[str], arms: Mapping[str, str]) -> dict[str, Counter[str]]:
    """By move and arm, in how many of the threads it is enacted."""
    found: dict[str, Counter[str]] = {}
    for thread in threads:
        for move in set().union(*list_positions(study, work, thread, CONDUCT)):
            found.setdefault(move, Counter())[arms[thread]] += 1
    return found
