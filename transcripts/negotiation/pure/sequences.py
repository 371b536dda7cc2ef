"""Which moves a coder found, and in which order: presence, sequences of sets, transitions, distances. Paper 001, Table 3B.

Only enacted moves form a sequence. Moves that begin at the same place of a turn form a set, because they have no order. Steps
are counted within a thread.

Counterfactual pairs: two threads that differ in one thing, and whether the model does the same in both. Paper 001, Table 3B.

If the difference should change what the model does, staying the same is the fault; if it should not, changing is. The two are
never pooled, because one would hide the other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

from transcripts.negotiation.pure.episodes import UNWARRANTED, list_episodes, list_meant
from transcripts.negotiation.pure.ledger import ASSUMED, ThreadLedger, list_acted_on, list_moves, read_ledger
from transcripts.negotiation.pure.reading import ENACTMENTS, EXPECTATIONS
from transcripts.negotiation.pure.records import (
    ALL_STAGES,
    ENACTED,
    FAILURES,
    FEATURES,
    FRONT,
    MOVES,
    STAGES,
    Coding,
    Pair,
    RecordIndex,
    Work,
    add_units,
    bound_share,
    is_one_each,
)
from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Share
from transcripts.statistics.significance import adjust_holm, measure_mcnemar, measure_student

MAX_THREADS_COMPARED = 100
"""Up to this number, every thread is compared with every other: 4,950 distances."""
MIN_EXPECTED = 5
"""With a smaller expected number, a residual does not follow the normal distribution and is marked as small."""
LEVEL = 0.05
"""A step whose P is below this has a star."""
NOT_STATED = "not_stated"

BUILT_IN_MOVES = frozenset(
    f"move.{name}"
    for name in ("elicit", "bracket", "quantify", "contextualize", "balance", "redirect", "revise", "refuse")
)
"""The moves of the built-in codebook: paper 001, section 4.2."""

Moves = frozenset[str]
MoveSequence = Sequence[Moves]


def count_decided(index: RecordIndex, work: Work) -> dict[str, int]:
    """Sentences of each stage that the coder decided for moves."""
    return {stage: sum(sentences for _, sentences in found) for stage, found in _list_decided(index, work).items()}


def count_threads_decided(index: RecordIndex, work: Work) -> dict[str, int]:
    """The number of threads that contain these sentences."""
    return {stage: len({thread for thread, _ in found}) for stage, found in _list_decided(index, work).items()}


def _list_decided(index: RecordIndex, work: Work) -> dict[str, list[tuple[str, int]]]:
    """By stage, the turns that the coder decided, each with its thread and the number of decided sentences."""
    decided: dict[str, list[tuple[str, int]]] = {stage: [] for stage in STAGES}
    for (thread, turn), sentences in work.list_decided(MOVES):
        if stage := index.stages[thread].get(turn):
            decided[stage].append((thread, sentences))
    return decided


def measure_presence(index: RecordIndex, work: Work) -> dict[str, dict[str, dict[str, float | None]]]:
    """Codings of each move by enactment and stage; enacted ones per 100 decided sentences of the stage, None without one."""
    counts = Counter(
        (coding.code, coding.enactment or NOT_STATED, stages.get(coding.turn, ""))
        for thread, codings in work.iterate_threads(MOVES)
        for stages in [index.stages[thread]]
        for coding in codings
    )
    decided = count_decided(index, work)
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
    """For each failure mode that the coder found, the number of codings and of threads."""
    found: dict[str, list[str]] = defaultdict(list)
    for coding in work.iterate(FAILURES):
        found[coding.code].append(coding.thread)
    return {code: {"codings": len(each), "threads": len(set(each))} for code, each in sorted(found.items())}


def list_positions(index: RecordIndex, work: Work, thread: str, stages: Collection[str]) -> list[Moves]:
    """The sequence of a thread: for each place where enacted moves begin, the set of these moves."""
    places: dict[tuple[int, int], set[str]] = {}
    stage_of = index.stages[thread]
    for coding in work.list_codings(MOVES, thread):
        if coding.enactment == ENACTED and stage_of.get(coding.turn) in stages:
            places.setdefault((coding.turn, coding.start), set()).add(coding.code)
    return [frozenset(moves) for moves in places.values()]


def measure_variety(sequences: Mapping[str, MoveSequence], known: Collection[str]) -> dict[str, Any]:
    """How many kinds of moves each thread shows, how evenly, and in how many threads each move occurs.

    ``of``: the number of moves, those of the built-in codebook and others that the coder used (``known``). For a thread,
    ``coverage`` is kinds of moves / ``of``, and ``entropy`` is Shannon's (1948) in bits, over the places where moves begin;
    None without a move. ``share`` is out of the threads that the coder has begun, with Wilson's interval from three threads on.
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
    """How often each move follows each other move in one step of a sequence.

    A step from a set A to a set B is shared out: each pair gets 1 / (|A| |B|). ``row`` and ``column`` are sums of leaving and
    of arriving; ``expected`` is row x column / steps. ``residual``: (o - e) / sqrt(e (1 - r/n) (1 - c/n)), about standard
    normal where steps are independent (Allison and Liker 1982, Psychological Bulletin 91:393); None where one row or column has
    everything. ``small``: the expected number is below 5. ``p_holm``: P of o - e over threads (``_measure_chances``), because
    steps of one thread depend on one another, adjusted over the cells that are not small (Holm 1979); None in small cells, and
    in all cells if fewer than ten ``threads`` have a step. A move may follow itself.
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
    """For each cell, P for the hypothesis that as many steps are observed as expected, with threads as clusters.

    o - e is the sum over threads t of u_t = o_t - (c r_t + r c_t) / n + e n_t / n, its linearisation (Binder 1983,
    International Statistical Review 51:279), in which o_t, r_t, c_t and n_t are the thread's contributions to o, r, c and n. P
    comes from Student's t of the u_t.
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
    """Whether a step is significantly more or less common than expected, adjusted for the number of cells."""
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
    """The least cost of turning one sequence into the other: 1 to remove or insert a set, 1 - Jaccard to replace one.

    With single moves this is the distance of Levenshtein (1966): optimal matching with unit costs.
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
    """The distance of each thread to each later one by name, and a warning if there are too many to compare.

    ``normalised``: the distance divided by the longer length, from 0 to 1; 0 where both are empty.
    """
    if len(sequences) > MAX_THREADS_COMPARED:
        number = math.comb(len(sequences), 2)
        return {}, (
            f"Distances were left out: {len(sequences):,} threads form {number:,} pairs, and at most {MAX_THREADS_COMPARED} "
            "threads are compared."
        )
    distances: dict[str, dict[str, dict[str, float]]] = {}
    for (name, one), (other_name, other) in combinations(sorted(sequences.items()), 2):
        distance = measure_distance(one, other)
        longer = max(len(one), len(other))
        entry = {"distance": distance, "normalised": distance / longer if longer else 0.0}
        distances.setdefault(name, {})[other_name] = entry
    return distances, ""


class CountedTurn(NamedTuple):
    """A turn that a number counts; ``turn`` is ``None`` where it counts the whole thread. ``codes``: the codes there; ``words``:
    further remarks. ``coding``: the id of the coding, where there is one.
    """

    thread: str
    turn: int | None
    codes: tuple[str, ...] = ()
    words: str = ""
    coding: str = ""


def find_counted_turns(
    index: RecordIndex,
    work: Work,
    figure: str,
    keys: Sequence[str],
    *,
    stages: Collection[str],
    outcomes: Collection[str] = (),
) -> list[CountedTurn]:
    """The turns counted in the number ``keys`` of a ``figure``, by thread and turn; empty if there is no such number."""
    finders = {
        "presence": lambda: _of_presence(index, work, keys),
        "transitions": lambda: _of_transitions(index, work, keys, stages),
        "episodes": lambda: _of_episodes(index, work, keys, stages),
        "pressure": lambda: _of_pressure(index, work, keys, stages),
        "intents": lambda: _of_intents(index, work, keys),
        "ledger": lambda: _of_ledger(index, work, keys),
        "links": lambda: _of_links(index, work, keys, stages),
        "pairs": lambda: _of_pairs(index, work, keys, outcomes, ALL_STAGES if stages == ALL_STAGES else {FRONT}),
        "agreement": lambda: _of_agreement(index, keys),
    }
    finder = finders.get(figure)
    found = list(finder()) if finder and keys else []
    return sorted(found, key=lambda each: (each.thread, each.turn or 0))


def _show(coding: Coding, words: str = "") -> CountedTurn:
    return CountedTurn(coding.thread, coding.turn, (coding.code,), words or coding.enactment, coding.id)


def _of_presence(index: RecordIndex, work: Work, keys: Sequence[str]) -> Iterator[CountedTurn]:
    """Keys: a move, and optionally an enactment and a stage; without these two, the enacted codings."""
    move, enactment, stage = (*keys, "", "")[:3]
    wanted = "" if enactment == NOT_STATED else enactment or ENACTED
    for coding in work.iterate(MOVES):
        where = index.find_stage(coding)
        if coding.code == move and coding.enactment == wanted and where and stage in {"", where}:
            yield _show(coding)


def _of_transitions(
    index: RecordIndex, work: Work, keys: Sequence[str], stages: Collection[str]
) -> Iterator[CountedTurn]:
    """Keys: the move that a step leaves and the one that it arrives at."""
    here, there = (*keys, "")[:2]
    for thread in index.list_threads_begun(work, MOVES):
        places: dict[tuple[int, int], dict[str, Coding]] = {}
        for coding in work.list_codings(MOVES, thread):
            if coding.enactment == ENACTED and index.find_stage(coding) in stages:
                places.setdefault((coding.turn, coding.start), {})[coding.code] = coding
        for left, right in pairwise(places.values()):
            if here in left and there in right:
                share = 1 / (len(left) * len(right))
                words = f"then in turn {right[there].turn}" + (f"; counts as {share:.2f}" if share < 1 else "")
                yield CountedTurn(thread, left[here].turn, (here, there), words, left[here].id)


def _of_episodes(index: RecordIndex, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[CountedTurn]:
    """Keys: a kind of challenge, and an outcome or "explained"."""
    kind, outcome = (*keys, "")[:2]
    for each in list_episodes(index, work, stages):
        is_meant = each.is_explained if outcome == "explained" else outcome in {"", each.outcome}
        if each.kind == kind and is_meant:
            yield CountedTurn(each.thread, each.turn, (f"challenge.{kind}",), each.outcome)


def _of_pressure(index: RecordIndex, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[CountedTurn]:
    """Key: a thread."""
    for each in list_episodes(index, work, stages):
        if each.thread == keys[0] and each.kind == UNWARRANTED:
            yield CountedTurn(each.thread, each.turn, (f"challenge.{each.kind}",), each.outcome)


def _of_intents(index: RecordIndex, work: Work, keys: Sequence[str]) -> Iterator[CountedTurn]:
    """Keys: the intended kind of challenge and the coded one; if one is "", the turns that only the other names."""
    intended, coded = (*keys, "")[:2]
    for each in list_meant(index, work):
        if each.intended == intended and each.coded == ((coded,) if coded else ()):
            codes = tuple(f"challenge.{kind}" for kind in each.coded)
            yield CountedTurn(each.thread, each.turn, codes, f"meant: {each.intended.replace('_', ' ')}")


def _of_ledger(index: RecordIndex, work: Work, keys: Sequence[str]) -> Iterator[CountedTurn]:
    """Key: a share of the ledger, or with "_of" at its end what that is a share of."""
    for thread in index.list_threads_read(work, FEATURES):
        yield from _of_thread_ledger(index, thread, read_ledger(index, work, thread), keys[0])


def _of_thread_ledger(index: RecordIndex, thread: str, ledger: ThreadLedger, key: str) -> Iterator[CountedTurn]:
    sheet = index.threads[thread]
    if key.removesuffix("_of") in {"coverage", "over_raising"}:
        features = sheet.relevant if key.startswith("coverage") else sheet.irrelevant
        for feature in features:
            track = ledger.conduct.get(feature)
            turn = track.first_raised if track else None
            is_assumed = track is not None and any(entry.status == ASSUMED for entry in track.entries)
            if turn is not None or key.endswith("_of"):
                words = "raised" if turn is not None else "silently assumed" if is_assumed else "not raised"
                yield CountedTurn(thread, turn, (feature,), words)
    elif key.removesuffix("_of") == "disclosure":
        for feature, track in ledger.back.items():
            if track.first_raised is None:
                continue
            conduct = ledger.conduct.get(feature)
            is_disclosed = conduct is not None and conduct.is_raised_from(track.first_raised)
            if is_disclosed or key.endswith("_of"):
                words = "raised in its conduct too" if is_disclosed else "in its reasoning alone"
                yield CountedTurn(thread, track.first_raised, (feature,), words)
    elif key in {"elicit_first", "elicit_first_of"}:
        yield from _of_asking(thread, ledger, key)


def _of_asking(thread: str, ledger: ThreadLedger, key: str) -> Iterator[CountedTurn]:
    if ledger.elicit_first or (ledger.elicit_first is False and key.endswith("_of")):
        yield CountedTurn(thread, None, (), "asks first" if ledger.elicit_first else "commits first")


def _of_links(index: RecordIndex, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[CountedTurn]:
    """Keys: a move and a feature."""
    move, feature = (*keys, "")[:2]
    for coding in list_moves(index, work, stages):
        if coding.code == move:
            for each in list_acted_on(index, work, coding):
                if each.feature == feature:
                    words = "" if each.has_entry else "the feature has no entry yet"
                    yield CountedTurn(coding.thread, coding.turn, (move, feature), words, coding.id)


def _of_pairs(
    index: RecordIndex, work: Work, keys: Sequence[str], outcomes: Collection[str], stages: Collection[str]
) -> Iterator[CountedTurn]:
    """Keys: what is expected, and a cell."""
    expect, sides = (*keys, "")[:2]
    for each in list_pairs(index, work, outcomes, stages):
        if each.pair.expect == expect and sides in {"", each.sides}:
            for number, thread in enumerate((each.pair.a, each.pair.b)):
                shows = each.sides == "both" or each.sides == ("a_only", "b_only")[number]
                yield CountedTurn(
                    thread, None, (), f"pair {each.pair.name}: the outcome {'shows' if shows else 'does not show'}"
                )


def _of_agreement(index: RecordIndex, keys: Sequence[str]) -> Iterator[CountedTurn]:
    """Keys: two coders. Finds the entries that both made, with the status that each gave."""
    a, b = (*keys, "")[:2]
    if a not in index.work or b not in index.work:
        return
    entries: list[dict[tuple[str, int, str], Coding]] = []
    for coder in (a, b):
        codings = index.work[coder].iterate(FEATURES)
        entries.append({(each.thread, each.turn, each.code): each for each in codings if each.attributes.get("status")})
    for place, coding in entries[0].items():
        other = entries[1].get(place)
        if other is not None and index.find_stage(coding) not in {None, "back"}:
            words = f"{a}: {coding.attributes['status']}; {b}: {other.attributes['status']}"
            yield CountedTurn(coding.thread, coding.turn, (coding.code,), words, coding.id)


SIDES = ("both", "a_only", "b_only", "neither")


class ReadPair(NamedTuple):
    """A pair whose two threads the coder read, and the sides on which the outcome is found: one of `SIDES`."""

    pair: Pair
    sides: str


def list_pairs(index: RecordIndex, work: Work, outcomes: Collection[str], stages: Collection[str]) -> list[ReadPair]:
    """The pairs whose two threads the coder read to the end.

    A thread has the outcome if one of the codes is enacted in one of the stages; codes without enactment count anywhere.
    """
    showing: set[str] = set()
    for threads in work.codings.values():
        for thread, codings in threads.items():
            if thread not in showing and any(
                coding.code in outcomes and index.counts_as_shown(coding) and index.find_stage(coding) in stages
                for coding in codings
            ):
                showing.add(thread)
    read = _list_threads_read(index, work, outcomes)
    return [
        ReadPair(pair, SIDES[(pair.a not in showing) * 2 + (pair.b not in showing)])
        for pair in sorted(index.records.pairs)
        if pair.a in read and pair.b in read
    ]


def _list_threads_read(index: RecordIndex, work: Work, outcomes: Collection[str]) -> set[str]:
    families = {index.family_of.get(code, "") for code in outcomes} or {""}
    return set.intersection(*(set(index.list_threads_read(work, family)) for family in sorted(families)))


def measure_pairs(pairs: Sequence[ReadPair], outcomes: Sequence[str], *, known: int) -> dict[str, Any]:
    """How often the outcome flips, separately for pairs that should change and those that should not; ``known``: of how many.

    ``flip_rate``: one side only / pairs. Pairs that share a thread depend on one another, so the interval is over the
    ``groups`` of pairs connected by threads. ``p_mcnemar``: P for flips that go equally often either way, None if a group has
    several pairs. ``missed_changes``: pairs that should change and do not; ``unwanted_changes``: those that should not and do.
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
    """For each thread in a pair, the thread that represents all threads connected with it by pairs."""
    above: dict[str, str] = {}

    def find(thread: str) -> str:
        while above.setdefault(thread, thread) != thread:
            thread = above[thread]
        return thread

    for pair in pairs:
        above[find(pair.a)] = find(pair.b)
    return {thread: find(thread) for thread in above}
