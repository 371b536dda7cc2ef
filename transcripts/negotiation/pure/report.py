"""What ``trajectory report`` prints and the pages show, from `Records`. A share has its 95 % interval over threads as [low,
high], the number of ``threads``, and the ``mark`` "few" or "rough" if these are too few; null means not defined. Keys under
``by_coder`` and ``ledger.threads`` are names of coders, threads, moves and features. Only threads of one kind and one model are
counted together, unless all are asked for.

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
                       "warrant_sensitivity": {"difference", "ci", "p_fisher", "threads", "mark"},
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

``list_report`` writes the report as lines for people: the figures of each coder with their denominators, then agreement and what
was left out. Single threads are only in the JSON, except those under sustained pressure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from transcripts.formats.problems import show_count
from transcripts.negotiation.pure.episodes import NAMES_OF_KINDS, list_episodes, measure_episodes, measure_intents
from transcripts.negotiation.pure.ledger import measure_entry_agreement, measure_ledger, measure_links
from transcripts.negotiation.pure.records import (
    ALL_STAGES,
    CONDUCT,
    ENACTED,
    FAMILIES_OF_NEGOTIATION,
    FRONT,
    MOVES,
    STAGES,
    RecordIndex,
    Records,
    Work,
    find_family,
)
from transcripts.negotiation.pure.sequences import (
    LEVEL,
    MIN_EXPECTED,
    NOT_STATED,
    SIDES,
    count_decided,
    count_failures,
    count_threads_decided,
    is_starred,
    list_pairs,
    list_positions,
    measure_distances,
    measure_pairs,
    measure_presence,
    measure_transitions,
    measure_variety,
)
from transcripts.refusals import Refused
from transcripts.statistics.figures import FEW, explain_marks_in, mark_clusters

TOGETHER = "*"
"""Requests every kind, or every model, together."""
NOT_KNOWN = "-"
"""Requests threads whose model is not known."""
INTERVIEW = "interview"
NAMES = ("kind", "model")
Threads = Mapping[tuple[str, str], int]
"""The number of threads in which somebody has coded negotiation, by kind and model label; 0 if the threads exist but nobody has."""


def choose_threads(coded: Threads, asked: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Which kind and model are counted if there are several, and the combinations of kind and model that remain.

    ``asked`` has the requests under "kind" and "model". Without a request, one is chosen: interviews, if any is coded, or else
    the kind or model with most coded threads. Choices are returned by name, except where there is only one option.
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
    """``Threads`` of the records, coded by any of these coders, or by anybody if none is named.

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
    """The records of the threads with these kinds and models, and of the pairs whose two threads are both among them."""
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


MAX_NAMES_LISTED = 30


class NotThere(Refused):
    """The records do not have a coder or code that was asked for; the message names those they have."""


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
    """The report on the records, or on the work of some coders.

    ``shown``: the coders whose figures are wanted; agreement covers all. ``outcomes``: codes, any of which is the outcome of
    pairs. ``all_stages``: private reasoning counts too, which it otherwise does only in ``presence``, in the ledger and for
    asking first. ``kind`` and ``model`` select the threads; "" leaves the choice to `choose_threads`. Raises `NotThere`.
    """
    every, (records, counted) = len(records.threads), _keep(records, {"kind": kind, "model": model}, coders)
    index = RecordIndex(records)
    chosen = _choose("coder", coders, index.coders) if coders else index.coders
    wanted = sorted(_choose("code", outcomes, sorted(index.codes)))
    warnings = [*records.warnings, *_warn_of_others(counted, len(records.threads), every)]
    if records.pairs and not wanted:
        warnings.append(f"No outcome was chosen, so {len(records.pairs):,} pairs of threads were not compared.")
    by_coder: dict[str, Any] = {}
    for coder in chosen if shown is None else [each for each in chosen if each in shown]:
        work = index.work[coder]
        by_coder[coder] = _report_coder(index, work, wanted, all_stages=all_stages, warnings=warnings)
    return {
        "threads": len(records.threads),
        **counted,
        "left_out": every - len(records.threads),
        "coders": chosen,
        "by_coder": by_coder,
        "agreement": {"status": measure_entry_agreement(index, chosen) if len(chosen) > 1 else None},
        "stances": _describe_stances(records, chosen),
        "warnings": warnings,
    }


def _keep(records: Records, asked: Mapping[str, str], coders: Collection[str]) -> tuple[Records, dict[str, str | None]]:
    """The records of the threads that are counted, and their kind and model; None for one that does not narrow them."""
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
        yield f"Of {every:,} threads only those of {of} are counted: {threads:,}. Choose another, or * to count all together."


def _report_coder(
    index: RecordIndex, work: Work, outcomes: Sequence[str], *, all_stages: bool, warnings: list[str]
) -> dict[str, Any]:
    stages: Collection[str] = ALL_STAGES if all_stages else CONDUCT
    sequences = {
        thread: list_positions(index, work, thread, stages) for thread in index.list_threads_begun(work, MOVES)
    }
    distances, warning = measure_distances(sequences)
    if warning:
        warnings.append(f"{work.coder}: {warning}")
    presence = measure_presence(index, work)
    pairs = None
    if outcomes:
        found = list_pairs(index, work, set(outcomes), ALL_STAGES if all_stages else {FRONT})
        pairs = measure_pairs(found, outcomes, known=len(index.records.pairs))
    return {
        "decided": count_decided(index, work),
        "decided_threads": count_threads_decided(index, work),
        "presence": presence,
        "positions": {thread: [sorted(moves) for moves in found] for thread, found in sequences.items()},
        "transitions": measure_transitions(sequences.values()),
        "variety": measure_variety(sequences, presence),
        "distances": distances,
        "episodes": measure_episodes(list_episodes(index, work, stages)),
        "intents": measure_intents(index, work),
        "ledger": measure_ledger(index, work),
        "links": measure_links(index, work, stages),
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
    """The requested names, sorted, without repetition. Raises `NotThere`."""
    if unknown := sorted(set(names) - set(there)):
        more = ", …" if len(there) > MAX_NAMES_LISTED else ""
        listed = ", ".join(there[:MAX_NAMES_LISTED]) or "none"
        raise NotThere(f"There is no {what} {', '.join(unknown)}; there are: {listed}{more}.")
    return sorted(set(names))


Figures = Mapping[str, Any]
_NOT_KINDS = {"warrant_sensitivity", "pressure"}
_SHARES = {
    "coverage": ("relevant features raised", "raised", "relevant"),
    "over_raising": ("irrelevant features raised", "over_raised", "irrelevant"),
    "disclosure": ("raised in reasoning and then in conduct", "disclosed", "raised_back"),
    "elicit_first": ("threads with asking or hedging before a commitment", "elicited_first", "committed"),
}
_EXPECTED = {"change": "pairs that should change", "no_change": "pairs that should not change"}


def list_report(report: Figures) -> Iterator[str]:
    """The lines of a report that `make_report` made."""
    yield f"{report['threads']:,} threads; coders: {', '.join(report['coders']) or 'none'}"
    for label, stance in report["stances"].items():
        yield from _list_stance(label, stance)
    for coder, figures in report["by_coder"].items():
        lines = [
            *_list_presence(figures["presence"], figures["decided"], figures["decided_threads"]),
            *_list_variety(figures["variety"]),
            *_list_transitions(figures["transitions"]),
            *_list_episodes(figures["episodes"]),
            *_list_intents(figures["intents"]),
            *_list_ledger(figures["ledger"]),
            *_list_links(figures["links"]),
            *_list_pairs(figures["pairs"]),
            *_list_failures(figures["failure_modes"]),
        ]
        if lines:
            yield from ("", f"== {coder}", *lines, *explain_marks_in(lines, "threads"))
    yield from _list_agreement(report["agreement"]["status"])
    if report["warnings"]:
        yield ""
    yield from report["warnings"]


def _list_stance(label: str, stance: Figures) -> Iterator[str]:
    known = stance.get("stance", {})
    yield ""
    yield f"== Normative stance {label}" + (f", by {known['author']}" if known.get("author") else "")
    for criterion, figures in stance.items():
        if not isinstance(figures, dict) or "by_coder" not in figures:
            continue
        for coder, counts in figures["by_coder"].items():
            shown = ", ".join(f"{name}: {count}" for name, count in counts.items() if name not in {"n", "median"})
            middle = f", median {counts['median']:g}" if counts.get("median") is not None else ""
            yield f"  {criterion}, {coder}: {shown}; n {counts['n']}{middle}"
        name = "alpha_ordinal" if "alpha_ordinal" in figures else "alpha_nominal"
        if name in figures:
            yield f"  {criterion}: {name.replace('_', ', ')} {_show(figures[name])}"
        compared = figures.get("superiority")
        if compared and compared["value"] is not None:
            first, second = compared["conditions"]
            yield (
                f"  {criterion}, {figures['first_coder']}: {first} over {second} {_show(compared['value'])} "
                f"{_show_interval(compared['interval'])}, n {compared['n'][0]} and {compared['n'][1]}"
            )


def _list_intents(intents: Figures) -> Iterator[str]:
    if not any(intents[name] for name in ("units", "only_sheet", "several")):
        return
    yield ""
    yield (
        f"Challenges compared with the intents on case sheets: {show_count(intents['units'], 'turn')} that both classify, equal "
        f"{_show(intents['raw'])}, kappa {_show(intents['kappa'])}; only the case sheet {intents['only_sheet']}, only the reader "
        f"{intents['only_reader']}, with several kinds {intents['several']}"
    )


def _list_presence(presence: Figures, decided: Figures, threads: Figures) -> Iterator[str]:
    if not presence:
        return
    yield ""
    yield from _table(
        [
            "Move",
            *(f"{ENACTED}, {stage}" for stage in STAGES),
            "demonstrated",
            "described",
            "not stated",
            "per 100 front",
        ],
        [
            [
                move,
                *(row[ENACTED][stage] for stage in STAGES),
                *(sum(row[name].values()) for name in ("demonstrated", "described", NOT_STATED)),
                _mark(_show(row["per_100"]["front"], 1), mark_clusters(threads["front"]) if decided["front"] else None),
            ]
            for move, row in presence.items()
        ],
    )
    sentences = ", ".join(
        f"{stage} {decided[stage]:,} in {show_count(threads[stage], 'thread')}" for stage in STAGES if decided[stage]
    )
    yield f"Decided sentences: {sentences or 'none'}"


def _list_variety(variety: Figures) -> Iterator[str]:
    found = [each for each in variety["threads"].values() if each["moves"]]
    if not found:
        return
    middle = {key: median(each[key] for each in found) for key in ("moves", "entropy")}
    shares = ", ".join(f"{move} {each['threads']:,}" for move, each in variety["moves"].items())
    yield (
        f"Kinds of moves in a thread that has any: median {middle['moves']:g} of {variety['of']}, entropy "
        f"{middle['entropy']:.2f} bits; threads with each: {shares}, of {len(variety['threads']):,}"
    )


def _list_transitions(transitions: Figures) -> Iterator[str]:
    found = [
        [
            here,
            there,
            _show(cell["observed"]),
            _show(cell["expected"]),
            _show(cell["probability"]),
            _mark_residual(cell),
        ]
        for here, row in transitions["cells"].items()
        for there, cell in row.items()
        if cell["observed"]
    ]
    if found:
        yield ""
        yield from _table(["From", "to", "steps", "expected", "probability", "residual"], found)
        yield (
            f"{show_count(transitions['pairs'], 'step')} in {show_count(transitions['threads'], 'thread')}; * P below {LEVEL} "
            f"by Student's t over threads, adjusted over cells with at least {MIN_EXPECTED} expected (Holm), from {FEW} threads "
            "on"
        )


def _mark_residual(cell: Figures) -> str:
    value = cell["residual"]
    if value is None:
        return "-"
    return f"{value:.2f}" + (" (small)" if cell["small"] else "*" if is_starred(cell) else "")


def _list_episodes(episodes: Figures) -> Iterator[str]:
    kinds = [kind for kind in episodes if kind not in _NOT_KINDS and episodes[kind]["episodes"]]
    if not kinds:
        return
    yield ""
    yield from _table(
        ["Answers to a", "revised", "of", "threads", "rate", "95 %", "explained", "undecided"],
        [
            [
                NAMES_OF_KINDS[kind].lower(),
                row["revised"],
                row["decided"],
                row["threads"],
                _show_marked(row["rate"], row["mark"]),
                _show_interval(row["ci"]),
                row["explained"],
                row["undecided"],
            ]
            for kind in kinds
            for row in [episodes[kind]]
        ],
    )
    told = episodes["warrant_sensitivity"]
    if told["difference"] is not None:
        p = f", P {_show_p(told['p_fisher'])} (Fisher)" if told["p_fisher"] is not None else ""
        difference = _show_marked(told["difference"], told["mark"])
        yield f"Warranted minus unwarranted: {difference} {_show_interval(told['ci'])}".rstrip() + p
    for thread, pressed in episodes["pressure"].items():
        first = f"first revised at number {pressed['turn_of_flip']}" if pressed["flips"] else "never revised"
        yield f"{thread}: {pressed['challenges']} unwarranted challenges, {first}, {pressed['flips']} in all"


def _list_ledger(ledger: Figures) -> Iterator[str]:
    total = ledger["total"]
    lines = [
        f"{words}: {total[part]} of {total[whole]} in {show_count(total[name]['threads'], 'thread')} = "
        f"{_show_marked(total[name]['share'], total[name]['mark'])} {_show_interval(total[name]['ci'])}".rstrip()
        for name, (words, part, whole) in _SHARES.items()
        if total[whole]
    ]
    if total["in_part"]:
        lines.append(
            f"{show_count(total['in_part'], 'thread')} left out, because they have answers that are not decided yet"
        )
    if lines:
        yield ""
        yield "Ledger of features"
        yield from (f"  {line}" for line in lines)


def _list_links(links: Figures) -> Iterator[str]:
    if links["links"]:
        yield ""
        yield (
            f"{show_count(links['moves'], 'move')}, {show_count(links['links'], 'link')} to features; without a link: "
            f"{links['moves_without_link']:,}; to a feature without an entry: {links['links_without_entry']:,}"
        )
        for move, row in links["counts"].items():
            yield f"  {move}: {', '.join(f'{feature} {count}' for feature, count in row.items())}"


def _list_pairs(pairs: Figures | None) -> Iterator[str]:
    if pairs is None:
        return
    yield ""
    yield f"Pairs, by {', '.join(pairs['outcomes'])}"
    for expect, words in _EXPECTED.items():
        row = pairs[expect]
        if row["pairs"]:
            cells = ", ".join(f"{side.replace('_', ' ')} {row[side]}" for side in SIDES)
            yield (
                f"  {words}: {row['a_only'] + row['b_only']} of {row['pairs']} flip = "
                f"{_show_marked(row['flip_rate'], row['mark'])} {_show_interval(row['ci'])} ({cells})"
                + (f", P {_show_p(row['p_mcnemar'])} (McNemar)" if row["p_mcnemar"] is not None else "")
            )
    yield f"  changes missed {_show(pairs['missed_changes'])}, unwanted {_show(pairs['unwanted_changes'])}"
    if pairs["not_read"]:
        yield f"  {pairs['not_read']:,} pairs are left out, because she has not read both threads to the end"


def _list_failures(failures: Figures) -> Iterator[str]:
    for code, counts in failures.items():
        yield f"{code}: {counts['codings']:,} in {show_count(counts['threads'], 'thread')}"


def _list_agreement(status: Figures | None) -> Iterator[str]:
    for pair in status["pairs"] if status else ():
        if pair["units"]:
            yield ""
            yield (
                f"Status of features, {pair['a']} and {pair['b']}: {pair['units']:,} entries of both, equal {_show(pair['raw'])}, "
                f"alpha {_show(pair['alpha'])}; {pair['only_first']:,} and {pair['only_second']:,} by only one coder; kappa of "
                f"presence {_show(pair['presence']['kappa'])}"
            )


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [list(headings), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(headings))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _show(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _show_marked(value: float | None, mark: str | None) -> str:
    return _mark(_show(value), mark)


def _mark(text: str, mark: str | None) -> str:
    return f"{text} ({mark})" if mark else text


def _show_interval(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]"


def _show_p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
