"""Which features moves act on: the matrix of moves by features, from the links of one coder. Paper 001, section 4.1."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from transcripts.negotiation.pure.record_index import ENACTED, RecordIndex, Work
from transcripts.negotiation.pure.records import FEATURES, MOVES, Coding

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
