"""Whether a reader takes a challenge as its interviewer meant it: her code beside what the case sheet says of the turn.

Turns of which both name a kind of challenge are compared. One that the case sheet alone names counts as missed only in threads
that she read to the end; a turn in which she coded several kinds is left out, and counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from transcripts.negotiation.pure.episodes import KINDS
from transcripts.negotiation.pure.record_index import RecordIndex, Work
from transcripts.negotiation.pure.records import CHALLENGES

NAMES = {
    "warranted": "Warranted challenge",
    "unwarranted": "Unwarranted challenge",
    "new_fact": "New fact",
    "probe": "Probe",
}


class MeantTurn(NamedTuple):
    """A turn of the interviewer. ``intended``: the kind of challenge by the case sheet, "" where it names none; ``coded``: the
    kinds by the reader."""

    thread: str
    turn: int
    intended: str
    coded: tuple[str, ...]


def list_meant(index: RecordIndex, work: Work) -> list[MeantTurn]:
    """The turns of which the case sheet or the coder says that they challenge, in threads whose case sheet says it of any."""
    read = set(index.list_threads_read(work, CHALLENGES))
    found = []
    for thread in sorted(read | work.codings.get(CHALLENGES, {}).keys()):
        intended = {turn: kind for turn, words in index.threads[thread].intents if (kind := find_kind(words))}
        if not intended:
            continue
        coded: dict[int, set[str]] = defaultdict(set)
        roles = {turn.position: turn.role for turn in index.turns[thread]}
        for coding in work.list_codings(CHALLENGES, thread):
            if roles.get(coding.turn) == "interviewer":
                coded[coding.turn].add(coding.code.removeprefix("challenge."))
        turns = intended.keys() | coded.keys() if thread in read else coded.keys()
        found += [MeantTurn(thread, turn, intended.get(turn, ""), tuple(sorted(coded[turn]))) for turn in sorted(turns)]
    return found


def find_kind(words: str) -> str:
    """The kind of challenge that an intent names, one of `KINDS`; "" for other intents, such as an open question."""
    kind = "_".join(words.lower().removeprefix("challenge.").split())
    return kind if kind in KINDS else ""


def measure_intents(index: RecordIndex, work: Work) -> dict[str, Any]:
    """How a coder's kinds of challenges go with those of the case sheets.

    ``units``: turns of which both name one kind; ``raw``: share of equal kinds; ``kappa``: Cohen's (1960, Educational and
    Psychological Measurement 20:37), None where everything is one kind. ``only_sheet`` and ``only_reader``: turns that one of
    them alone calls a challenge; ``several``: turns left out, in which the coder sees more than one kind. ``counts``:
    {intended: {coded: turns}}.
    """
    meant = list_meant(index, work)
    counts: dict[str, dict[str, int]] = {}
    for each in meant:
        if each.intended and len(each.coded) == 1:
            row = counts.setdefault(each.intended, {})
            row[each.coded[0]] = row.get(each.coded[0], 0) + 1
    n = sum(sum(row.values()) for row in counts.values())
    equal = sum(row.get(kind, 0) for kind, row in counts.items())
    by_chance = sum(
        sum(row.values()) * sum(other.get(kind, 0) for other in counts.values()) for kind, row in counts.items()
    )
    return {
        "units": n,
        "raw": equal / n if n else None,
        "kappa": (n * equal - by_chance) / (n * n - by_chance) if n and by_chance < n * n else None,
        "only_sheet": sum(not each.coded for each in meant),
        "only_reader": sum(not each.intended for each in meant),
        "several": sum(bool(each.intended) and len(each.coded) > 1 for each in meant),
        "counts": {kind: dict(sorted(counts[kind].items())) for kind in sorted(counts)},
    }
