"""What moves a coder found and in which order: presence, sequences of sets, transitions, distances. Paper 001, Table 3B.

Only what is enacted forms a sequence. Moves that begin at the same place of a turn stand side by side, as a set: no order is made
up for them. Steps are counted inside a thread.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations, pairwise
from typing import Any

from transcripts.negotiation.pure.reading import ENACTMENTS
from transcripts.negotiation.pure.records import FAILURES, MOVES
from transcripts.negotiation.pure.study import ENACTED, STAGES, Study, Work
from transcripts.statistics.figures import FEW, MIN_CLUSTERS
from transcripts.statistics.intervals import Share
from transcripts.statistics.multiplicity import adjust_holm
from transcripts.statistics.significance import measure_student

MAX_THREADS_COMPARED = 100
"""Threads up to which every one is compared with every other: 4,950 distances."""
MIN_EXPECTED = 5
"""Below it a residual does not follow the normal distribution, and is marked as small."""
LEVEL = 0.05
"""A step whose P is below has a star."""
NOT_STATED = "not_stated"

BUILT_IN_MOVES = frozenset(
    f"move.{name}"
    for name in ("elicit", "bracket", "quantify", "contextualize", "balance", "redirect", "revise", "refuse")
)
"""The moves of the built-in codebook: paper 001, section 4.2."""

Moves = frozenset[str]
MoveSequence = Sequence[Moves]


def count_decided(study: Study, work: Work) -> dict[str, int]:
    """Sentences of each stage that the coder decided for moves."""
    return {stage: sum(sentences for _, sentences in found) for stage, found in _list_decided(study, work).items()}


def count_threads_decided(study: Study, work: Work) -> dict[str, int]:
    """In how many threads these sentences are."""
    return {stage: len({thread for thread, _ in found}) for stage, found in _list_decided(study, work).items()}


def _list_decided(study: Study, work: Work) -> dict[str, list[tuple[str, int]]]:
    """By stage the turns that the coder decided, each with its thread and how many of its sentences."""
    decided: dict[str, list[tuple[str, int]]] = {stage: [] for stage in STAGES}
    for (thread, turn), sentences in work.list_decided(MOVES):
        if stage := study.stages[thread].get(turn):
            decided[stage].append((thread, sentences))
    return decided


def measure_presence(study: Study, work: Work) -> dict[str, dict[str, dict[str, float | None]]]:
    """Codings of each move by enactment and stage; enacted ones per 100 decided sentences of the stage, None without one."""
    counts = Counter(
        (coding.code, coding.enactment or NOT_STATED, stages.get(coding.turn, ""))
        for thread, codings in work.iterate_threads(MOVES)
        for stages in [study.stages[thread]]
        for coding in codings
    )
    decided = count_decided(study, work)
    presence: dict[str, dict[str, dict[str, float | None]]] = {}
    for move in sorted({code for code, _, stage in counts if stage}):
        presence[move] = {
            enactment: {stage: counts[move, enactment, stage] for stage in STAGES}
            for enactment in (*ENACTMENTS, NOT_STATED)
        }
        presence[move]["per_100"] = {
            stage: 100 * counts[move, ENACTED, stage] / decided[stage] if decided[stage] else None for stage in STAGES
        }
    return presence


def count_failures(work: Work) -> dict[str, dict[str, int]]:
    """Of each failure mode of answers that the coder found, how many codings and in how many threads."""
    found: dict[str, list[str]] = defaultdict(list)
    for coding in work.iterate(FAILURES):
        found[coding.code].append(coding.thread)
    return {code: {"codings": len(each), "threads": len(set(each))} for code, each in sorted(found.items())}


def list_positions(study: Study, work: Work, thread: str, stages: Collection[str]) -> list[Moves]:
    """The sequence of a thread: at each place where enacted moves begin, the set of them."""
    places: dict[tuple[int, int], set[str]] = {}
    stage_of = study.stages[thread]
    for coding in work.list_codings(MOVES, thread):
        if coding.enactment == ENACTED and stage_of.get(coding.turn) in stages:
            places.setdefault((coding.turn, coding.start), set()).add(coding.code)
    return [frozenset(moves) for moves in places.values()]


def measure_variety(sequences: Mapping[str, MoveSequence], known: Collection[str]) -> dict[str, Any]:
    """How many kinds of moves each thread shows, how evenly, and in how many threads each move stands.

    ``of``: how many moves there are, those of the built-in codebook and what the coder used beside them (``known``). Of a
    thread ``coverage`` is kinds of moves / ``of``, ``entropy`` Shannon's in bits (1948), over the places where moves begin;
    None without a move. ``share`` is of the threads that the coder has begun, with Wilson's interval from three threads on.
    """
    of = len(BUILT_IN_MOVES | set(known))
    threads: dict[str, dict[str, float | None]] = {}
    there: Counter[str] = Counter()
    for thread, sequence in sequences.items():
        counts = Counter(chain.from_iterable(sequence))
        there.update(counts.keys())
        threads[thread] = {"moves": len(counts), "coverage": len(counts) / of, "entropy": _measure_entropy(counts)}
    moves: dict[str, dict[str, Any]] = {}
    for move, number in sorted(there.items()):
        share = Share(number, len(sequences))
        interval = share.interval if share.n >= MIN_CLUSTERS else None
        moves[move] = {"threads": number, "share": share.value, "ci": list(interval) if interval else None}
    return {"of": of, "threads": threads, "moves": moves}


def _measure_entropy(counts: Counter[str]) -> float | None:
    total = counts.total()
    # Sorted, so that the last digits do not depend on the order of a set.
    return sum(n / total * math.log2(total / n) for n in sorted(counts.values())) if total else None


def measure_transitions(sequences: Iterable[MoveSequence]) -> dict[str, Any]:
    """How often which move follows which, in one step of a sequence.

    A step from a set A to a set B is shared out: each pair gets 1 / (|A| |B|). ``row`` and ``column`` are sums of leaving and
    of arriving; ``expected`` is row x column / steps. ``residual``: (o - e) / sqrt(e (1 - r/n) (1 - c/n)), about standard normal
    where steps are independent (Allison and Liker 1982, Psychological Bulletin 91:393); None where one row or column has
    everything. ``small``: the expected number is below 5. ``p_holm``: P of o - e over threads (``_measure_chances``), for steps of
    one thread depend on one another, adjusted over the cells of the table that are not small (Holm 1979); None in those that are,
    and in all where fewer than ten ``threads`` have a step. A move may follow itself.
    """
    sequences = [sequence for sequence in sequences if len(sequence) > 1]
    observed: dict[tuple[str, str], float] = defaultdict(float)
    row: dict[str, float] = defaultdict(float)
    column: dict[str, float] = defaultdict(float)
    steps = Counter(step for sequence in sequences for step in pairwise(sequence))
    # In order, so that the same sequences give the same last digits whatever order they come in.
    for (left, right), number in sorted(steps.items(), key=lambda item: tuple(map(sorted, item[0]))):
        share = number / (len(left) * len(right))
        for here in sorted(left):
            row[here] += number / len(left)
            for there in sorted(right):
                observed[here, there] += share
        for there in right:
            column[there] += number / len(right)
    n = sum(steps.values())
    cells: dict[str, dict[str, dict[str, float | bool | None]]] = {
        here: {there: _describe_cell(observed[here, there], row[here], column[there], n) for there in sorted(column)}
        for here in sorted(row)
    }
    tested = [
        (here, there)
        for here, found in cells.items()
        for there, cell in found.items()
        if cell["residual"] is not None and not cell["small"] and len(sequences) >= FEW
    ]
    chances = adjust_holm(_measure_chances(tested, sequences, row, column, n)) if tested else []
    for (here, there), chance in zip(tested, chances, strict=True):
        cells[here][there]["p_holm"] = chance
    return {
        "pairs": n,
        "threads": len(sequences),
        "row": dict(sorted(row.items())),
        "column": dict(sorted(column.items())),
        "cells": cells,
    }


def _measure_chances(
    tested: Sequence[tuple[str, str]],
    sequences: Sequence[MoveSequence],
    row: Mapping[str, float],
    column: Mapping[str, float],
    n: int,
) -> list[float]:
    """For each cell, P that as many steps are observed as expected, with threads as clusters.

    o - e is the sum over threads t of u_t = o_t - (c r_t + r c_t) / n + e n_t / n, its linearisation (Binder 1983, International
    Statistical Review 51:279), in which o_t, r_t, c_t and n_t are what the thread adds to o, r, c and n. P is of Student's t of
    the u_t.
    """
    import numpy as np

    size = len(sequences)
    found = {cell: np.zeros(size) for cell in tested}
    leaving, arriving = ({move: np.zeros(size) for move in sums} for sums in (row, column))
    steps = np.array([len(sequence) - 1 for sequence in sequences])
    for thread, sequence in enumerate(sequences):
        for left, right in pairwise(sequence):
            for here in left:
                leaving[here][thread] += 1 / len(left)
                for there in right:
                    if (here, there) in found:
                        found[here, there][thread] += 1 / (len(left) * len(right))
            for there in right:
                arriving[there][thread] += 1 / len(right)
    return [
        measure_student(
            observed
            - (column[there] * leaving[here] + row[here] * arriving[there]) / n
            + row[here] * column[there] / n**2 * steps
        )
        for (here, there), observed in found.items()
    ]


def is_starred(cell: Mapping[str, Any]) -> bool:
    """Whether a step is more or less common than expected, adjusted for the number of cells."""
    return cell["p_holm"] is not None and cell["p_holm"] < LEVEL


def _describe_cell(observed: float, row: float, column: float, n: int) -> dict[str, float | bool | None]:
    expected = row * column / n
    spread = expected * (1 - row / n) * (1 - column / n)
    return {
        "observed": observed,
        "expected": expected,
        "probability": observed / row,
        "residual": (observed - expected) / math.sqrt(spread) if spread > 1e-12 else None,
        "small": expected < MIN_EXPECTED,
        "p_holm": None,
    }


def measure_distance(one: MoveSequence, other: MoveSequence) -> float:
    """The least cost of turning one sequence into the other: 1 to leave out or put in a set, 1 - Jaccard to exchange it.

    With single moves this is the distance of Levenshtein (1966), the optimal matching of unit costs.
    """
    above: list[float] = [float(place) for place in range(len(other) + 1)]
    for number, here in enumerate(one, 1):
        current = [float(number)]
        for place, there in enumerate(other, 1):
            exchanged = (
                above[place - 1] if here == there else above[place - 1] + 1 - len(here & there) / len(here | there)
            )
            current.append(min(above[place] + 1, current[-1] + 1, exchanged))
        above = current
    return above[-1]


def measure_distances(sequences: Mapping[str, MoveSequence]) -> tuple[dict[str, dict[str, dict[str, float]]], str]:
    """Each thread with each that comes after it by name, and a warning where they are too many to compare.

    ``normalised``: the distance divided by the longer length, from 0 to 1; 0 where both are empty.
    """
    if len(sequences) > MAX_THREADS_COMPARED:
        number = math.comb(len(sequences), 2)
        return {}, (
            f"Distances were left out: {len(sequences):,} threads are {number:,} pairs; at most "
            f"{MAX_THREADS_COMPARED} threads are compared."
        )
    distances: dict[str, dict[str, dict[str, float]]] = {}
    for (name, one), (other_name, other) in combinations(sorted(sequences.items()), 2):
        distance = measure_distance(one, other)
        longer = max(len(one), len(other))
        entry = {"distance": distance, "normalised": distance / longer if longer else 0.0}
        distances.setdefault(name, {})[other_name] = entry
    return distances, ""
