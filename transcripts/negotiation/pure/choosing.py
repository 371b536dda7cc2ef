"""Which threads are counted together: those of one kind and one model, unless all are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from transcripts.negotiation.pure.records import FAMILIES_OF_NEGOTIATION, Records, find_family

TOGETHER = "*"
"""What asks for every kind, or every model, together."""
NOT_KNOWN = "-"
"""What asks for threads whose model is not known."""
INTERVIEW = "interview"
NAMES = ("kind", "model")
Threads = Mapping[tuple[str, str], int]
"""In how many threads somebody has coded negotiation, by their kind and the label of their model; 0 where there are some."""


def choose_threads(coded: Threads, asked: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Which kind and model are counted where several are there, and the kinds with models that are left.

    ``asked`` has what was asked for by the names "kind" and "model"; a name that it lacks is chosen: interviews, where any is
    coded, or the kind or model with most coded threads. What was chosen comes by name; nothing where there is one alone.
    """
    left, chosen = list(coded), {}
    for place, name in enumerate(NAMES):
        wanted = asked.get(name) or TOGETHER
        if wanted != TOGETHER:
            left = [each for each in left if each[place] == ("" if wanted == NOT_KNOWN else wanted)]
    for place, name in enumerate(NAMES):
        threads = Counter[str]()
        for each in left:
            threads[each[place]] += coded[each]
        if len(threads) > 1 and not asked.get(name):
            is_usual = name == "kind" and threads[INTERVIEW]
            most = INTERVIEW if is_usual else min(threads, key=lambda each: (-threads[each], each))
            chosen[name] = most or NOT_KNOWN
            left = [each for each in left if each[place] == most]
    return chosen, left


def count_coded(records: Records, coders: Collection[str] = ()) -> dict[tuple[str, str], int]:
    """``Threads`` of the records, coded by any of these coders, or by anybody where none is named.

    Not counted (0) where all threads are of one kind and model: there is nothing to choose.
    """
    counts = dict.fromkeys(((each.kind, each.model) for each in records.threads), 0)
    if len(counts) < 2:
        return counts
    coded = {
        each.thread
        for each in records.codings
        if find_family(each) in FAMILIES_OF_NEGOTIATION and (not coders or each.coder in coders)
    }
    for thread in records.threads:
        counts[thread.kind, thread.model] += thread.id in coded
    return counts


def keep_threads(records: Records, left: list[tuple[str, str]]) -> Records:
    """The records of the threads of these kinds with models; of pairs those of which both threads are among them."""
    threads = [each for each in records.threads if (each.kind, each.model) in left]
    if len(threads) == len(records.threads):
        return records
    ids = {each.id for each in threads}
    codings = [each for each in records.codings if each.thread in ids]
    kept = {each.id for each in codings}
    return replace(
        records,
        threads=threads,
        turns=[each for each in records.turns if each.thread in ids],
        codings=codings,
        links=[each for each in records.links if each.coding in kept],
        pairs=[each for each in records.pairs if each.a in ids and each.b in ids],
        scores=[each for each in records.scores if each.thread in ids],
        decided=[each for each in records.decided if each.thread in ids],
    )
