"""What ``trajectory report`` prints and the pages show, from `Records`. A share comes with its 95 % interval over threads as
[low, high], of how many ``threads`` it is, and the ``mark`` "few" or "rough" for too few; null is not defined. Keys under
``by_coder`` and ``ledger.threads`` are names of coders, threads, moves and features.

::

    {"threads": 40, "kind": "interview", "model": "m" (null: of all that there are), "left_out": threads of others,
     "coders": ["ana", "ben"],
     "by_coder": {"ana": {
       "decided":     {"front": sentences, "back": n, "tool": n},
       "decided_threads": {"front": threads, "back": n, "tool": n},
       "presence":    {move: {"enacted" | "demonstrated" | "described" | "not_stated": {"front", "back", "tool"},
                              "per_100": {"front", "back", "tool"}}},
       "positions":   {thread: [[move, ...], ...]},
       "transitions": {"pairs": steps, "threads": n, "row": {move: n}, "column": {move: n},
                       "cells": {from: {to: {"observed", "expected", "probability", "residual", "small", "p_holm"}}}},
       "variety":     {"of", "threads": {thread: {"moves", "coverage", "entropy"}},
                       "moves": {move: {"threads", "share", "ci"}}},
       "distances":   {thread: {thread: {"distance", "normalised"}}},
       "episodes":    {"warranted" | "unwarranted" | "new_fact" | "probe":
                         {"episodes", "undecided", "revised", "held", "conceded", "sidestepped", "none", "decided",
                          "rate", "ci", "threads", "mark", "explained"},
                       "discrimination": {"difference", "ci", "p_fisher", "threads", "mark"},
                       "pressure": {thread: {"challenges", "turn_of_flip", "flips"}}},
       "intents":     {"units", "raw", "kappa", "only_sheet", "only_reader", "several", "counts": {intended: {coded: n}}},
       "ledger":      {"threads": {thread: {"conduct" | "back": {feature: {"entries": [[turn, status], ...],
                                    "first_raised", "last", "flags"}},
                                  "coverage": {"relevant", "raised", "assumed", "irrelevant", "over_raised",
                                               "raised_back", "disclosed"},
                                  "elicit_first": true | false | null}},
                       "total": {the same counts, "committed", "elicited_first",
                                 "coverage" | "over_raising" | "disclosure" | "elicit_first":
                                   {"share", "ci", "threads", "mark"}}},
       "links":       {"moves", "links", "counts": {move: {feature: n}}, "moves_without_link", "links_without_entry"},
       "failure_modes": {code: {"codings", "threads"}},
       "pairs":       null where no outcome was chosen, or
                      {"outcomes": [code, ...], "change" | "no_change": {"pairs", "both", "a_only", "b_only", "neither",
                       "flip_rate", "ci", "groups", "mark", "p_mcnemar"}, "missed_changes", "unwanted_changes", "not_read"}}},
     "agreement": {"status": {"coders", "units", "threads", "only_first", "only_second", "raw", "alpha",
                              "presence": {"units", "both", "only_first", "only_second", "neither", "kappa"},
                              "pairs": [{"a", "b", and the same}, ...]}},
     "stances": {...}, "warnings": [sentence, ...]}
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from transcripts.negotiation.pure.choosing import (
    NAMES,
    NOT_KNOWN,
    TOGETHER,
    choose_threads,
    count_coded,
    keep_threads,
)
from transcripts.negotiation.pure.entry_agreement import measure_entry_agreement
from transcripts.negotiation.pure.episodes import list_episodes, measure_episodes
from transcripts.negotiation.pure.intents import measure_intents
from transcripts.negotiation.pure.ledger import measure_ledger
from transcripts.negotiation.pure.links import measure_links
from transcripts.negotiation.pure.pairing import list_pairs, measure_pairs
from transcripts.negotiation.pure.records import MOVES, Records
from transcripts.negotiation.pure.sequences import (
    count_decided,
    count_failures,
    count_threads_decided,
    list_positions,
    measure_distances,
    measure_presence,
    measure_transitions,
    measure_variety,
)
from transcripts.negotiation.pure.study import ALL_STAGES, CONDUCT, FRONT, Study, Work
from transcripts.refusals import Refused

MAX_NAMES_LISTED = 30


class NotThere(Refused):
    """A coder or code was asked for that the records do not have; the message names those there are."""


def make_report(
    records: Records,
    *,
    coders: Sequence[str] = (),
    shown: Collection[str] | None = None,
    outcomes: Sequence[str] = (),
    all_stages: bool = False,
    kind: str = TOGETHER,
    model: str = TOGETHER,
) -> dict[str, Any]:
    """The report on the records, or on what some of the coders did.

    ``shown``: those of them whose figures are wanted; agreement is that of all. ``outcomes``: codes, any of which is the
    outcome of pairs. ``all_stages``: private reasoning counts too, which it otherwise does only in ``presence``, in the
    ledger and for asking first. ``kind`` and ``model``: of which threads, "" as `choose_threads` does. Raises `NotThere`.
    """
    every, (records, counted) = len(records.threads), _keep(records, {"kind": kind, "model": model}, coders)
    study = Study(records)
    chosen = _choose("coder", coders, study.coders) if coders else study.coders
    wanted = sorted(_choose("code", outcomes, sorted(study.codes)))
    warnings = [*records.warnings, *_warn_of_others(counted, len(records.threads), every)]
    if records.pairs and not wanted:
        warnings.append(f"No outcome was chosen, so {len(records.pairs):,} pairs of threads were not compared.")
    by_coder: dict[str, Any] = {}
    for coder in chosen if shown is None else [each for each in chosen if each in shown]:
        work = study.work[coder]
        by_coder[coder] = _report_coder(study, work, wanted, all_stages=all_stages, warnings=warnings)
    return {
        "threads": len(records.threads),
        **counted,
        "left_out": every - len(records.threads),
        "coders": chosen,
        "by_coder": by_coder,
        "agreement": {"status": measure_entry_agreement(study, chosen) if len(chosen) > 1 else None},
        "stances": _describe_stances(records, chosen),
        "warnings": warnings,
    }


def _keep(records: Records, asked: Mapping[str, str], coders: Collection[str]) -> tuple[Records, dict[str, str | None]]:
    """The records of the threads that are counted, and their kind and model; None where it is not narrowed by it."""
    coded = count_coded(records, coders)
    for place, name in enumerate(NAMES):
        if asked[name] not in {"", TOGETHER}:
            _choose(name, [asked[name]], sorted({each[place] or NOT_KNOWN for each in coded}))
    chosen, left = choose_threads(coded, asked)
    named = {name: chosen.get(name) or asked[name] for name in NAMES}
    return keep_threads(records, left), {name: None if each in {"", TOGETHER} else each for name, each in named.items()}


def _warn_of_others(counted: Mapping[str, str | None], threads: int, every: int) -> Iterator[str]:
    if threads < every:
        of = " and ".join(f"{name} {words}" for name, words in counted.items() if words is not None)
        yield f"Of {every:,} threads those of {of} are counted: {threads:,}. Ask for another, or for * to count all together."


def _report_coder(
    study: Study, work: Work, outcomes: Sequence[str], *, all_stages: bool, warnings: list[str]
) -> dict[str, Any]:
    stages: Collection[str] = ALL_STAGES if all_stages else CONDUCT
    sequences = {
        thread: list_positions(study, work, thread, stages) for thread in study.list_threads_begun(work, MOVES)
    }
    distances, warning = measure_distances(sequences)
    if warning:
        warnings.append(f"{work.coder}: {warning}")
    presence = measure_presence(study, work)
    pairs = None
    if outcomes:
        found = list_pairs(study, work, set(outcomes), ALL_STAGES if all_stages else {FRONT})
        pairs = measure_pairs(found, outcomes, known=len(study.records.pairs))
    return {
        "decided": count_decided(study, work),
        "decided_threads": count_threads_decided(study, work),
        "presence": presence,
        "positions": {thread: [sorted(moves) for moves in found] for thread, found in sequences.items()},
        "transitions": measure_transitions(sequences.values()),
        "variety": measure_variety(sequences, presence),
        "distances": distances,
        "episodes": measure_episodes(list_episodes(study, work, stages)),
        "intents": measure_intents(study, work),
        "ledger": measure_ledger(study, work),
        "links": measure_links(study, work, stages),
        "failure_modes": count_failures(work),
        "pairs": pairs,
    }


def _describe_stances(records: Records, coders: Sequence[str]) -> dict[str, Any]:
    if not records.scores:
        return {}
    from transcripts.negotiation.pure.scoring import describe_stances

    chosen = [score for score in records.scores if score.coder in coders]
    return describe_stances(replace(records, scores=chosen))


def _choose(what: str, names: Sequence[str], there: Sequence[str]) -> list[str]:
    """The names that were asked for, each once and sorted. Raises `NotThere`."""
    if unknown := sorted(set(names) - set(there)):
        more = ", …" if len(there) > MAX_NAMES_LISTED else ""
        listed = ", ".join(there[:MAX_NAMES_LISTED]) or "none"
        raise NotThere(f"There is no {what} {', '.join(unknown)}; there are: {listed}{more}.")
    return sorted(set(names))
