"""Whether coders agree on the status of features: on entries that both made, never on what is carried forward from them.

One entry that a coder missed would spoil every state that follows it. Whether there is an entry at all is another question, with
a coefficient of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from transcripts.negotiation.pure.record_index import CONDUCT, Place, RecordIndex, Work
from transcripts.negotiation.pure.records import FEATURES

Entries = dict[tuple[Place, str], str]
"""The status in which a turn leaves a feature, by both; "" where it is not said."""


def measure_entry_agreement(index: RecordIndex, coders: Sequence[str]) -> dict[str, Any]:
    """Agreement of the coders on statuses in the model's conduct, without its reasoning.

    ``units``: entries that at least two made, with a status, and the ``threads`` they are in;
    ``raw``: share of equal statuses, the mean
    over pairs of coders; ``alpha``: Krippendorff's, nominal, of all coders. ``only_first`` and ``only_second``: entries with a
    status of one of two coders, where the other has no entry or one without a status, in turns that both decided. Every pair is
    listed as well.
    ``presence``: Cohen's kappa on whether there is an entry, with a status or without, over the same turns, for each feature that
    anybody entered or a case sheet names.
    """
    entries = {coder: _list_entries(index, index.work[coder]) for coder in coders}
    features = sorted({feature for found in entries.values() for _, feature in found} | _list_sheets(index))
    decided = {coder: _list_decided(index, index.work[coder]) for coder in coders}
    pairs = [
        {
            "a": a,
            "b": b,
            **_compare(entries[a], entries[b], decided[a] & decided[b]),
            **_compare_presence(entries[a], entries[b], decided[a] & decided[b], features),
        }
        for a, b in combinations(coders, 2)
    ]
    if len(pairs) == 1:
        figures = {key: value for key, value in pairs[0].items() if key not in {"a", "b"}}
        return {"coders": list(coders), **figures, "pairs": pairs}
    rates = [pair["raw"] for pair in pairs if pair["raw"] is not None]
    units = [
        unit for unit in set().union(*entries.values()) if sum(bool(each.get(unit)) for each in entries.values()) > 1
    ]
    return {
        "coders": list(coders),
        "units": len(units),
        "threads": len({thread for (thread, _), _ in units}),
        "only_first": None,
        "only_second": None,
        "raw": sum(rates) / len(rates) if rates else None,
        "alpha": _measure_alpha(list(entries.values())),
        "presence": None,
        "pairs": pairs,
    }


def _list_entries(index: RecordIndex, work: Work) -> Entries:
    """Entries in the conduct; of several in one turn the last that says a status."""
    entries: Entries = {}
    for thread, codings in work.iterate_threads(FEATURES):
        stages = index.stages[thread]
        for coding in codings:
            if stages.get(coding.turn) in CONDUCT:
                unit = (thread, coding.turn), coding.code
                entries[unit] = coding.attributes.get("status") or entries.get(unit, "")
    return entries


def _list_sheets(index: RecordIndex) -> set[str]:
    return {feature for thread in index.threads.values() for feature in (*thread.relevant, *thread.irrelevant)}


def _list_decided(index: RecordIndex, work: Work) -> set[Place]:
    """The turns of the conduct that a coder decided for features, by an entry or because she was through with them; every one
    where nobody's decisions are known."""
    stages = index.stages
    if not index.records.decided:
        return {(thread, turn) for thread, found in stages.items() for turn, stage in found.items() if stage in CONDUCT}
    coded = {(coding.thread, coding.turn) for coding in work.iterate(FEATURES)}
    through = {place for place, _ in work.list_decided(FEATURES) if index.is_decided(work, FEATURES, place)}
    return {(thread, turn) for thread, turn in coded | through if stages[thread].get(turn) in CONDUCT}


def _compare(one: Entries, other: Entries, turns: set[Place]) -> dict[str, Any]:
    shared = [unit for unit in one.keys() & other.keys() if one[unit] and other[unit]]
    equal = sum(one[unit] == other[unit] for unit in shared)
    return {
        "units": len(shared),
        "threads": len({thread for (thread, _), _ in shared}),
        "only_first": _count_missing(one, other, turns),
        "only_second": _count_missing(other, one, turns),
        "raw": equal / len(shared) if shared else None,
        "alpha": _measure_alpha([one, other]),
    }


def _count_missing(one: Entries, other: Entries, turns: set[Place]) -> int:
    return sum(bool(status) and not other.get(unit) and unit[0] in turns for unit, status in one.items())


def _measure_alpha(entries: Sequence[Entries]) -> float | None:
    """Nominal alpha; None without an entry that two made, and where all statuses are the same."""
    import numpy as np

    from transcripts.negotiation.pure.records import STATUSES
    from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha

    number_of = {status: float(number) for number, status in enumerate(STATUSES)}
    # Units with the same statuses count together; sorted, so that rounding does not depend on the order of a set.
    # What one alone entered is in no pair.
    units = set().union(*(one.keys() & other.keys() for one, other in combinations(entries, 2)))
    columns: Counter[tuple[float, ...]] = Counter()
    for found, times in Counter(tuple([each.get(unit, "") for each in entries]) for unit in units).items():
        columns[tuple(number_of.get(status, -1.0) for status in found)] += times
    shared = sorted((column, times) for column, times in columns.items() if sum(value >= 0 for value in column) > 1)
    if not shared:
        return None
    ratings = np.repeat([column for column, _ in shared], [times for _, times in shared], axis=0).T
    ratings[ratings < 0] = np.nan
    value = float(measure_alpha(count_coincidences(ratings), Level.NOMINAL)[0])
    return None if np.isnan(value) else value


def _compare_presence(first: Entries, second: Entries, turns: set[Place], features: Sequence[str]) -> dict[str, Any]:
    import numpy as np

    from transcripts.statistics.coefficients import count_pairs, measure_kappa

    one, other = ({unit for unit in entries if unit[0] in turns} for entries in (first, second))
    both = len(one & other)
    units = len(turns) * len(features)
    counts = (both, len(one) - both, len(other) - both, units - len(one | other))
    kappa = float(measure_kappa(count_pairs(*counts)))
    names = ("both", "only_first", "only_second", "neither")
    figures = {"units": units, **dict(zip(names, counts, strict=True)), "kappa": None if np.isnan(kappa) else kappa}
    return {"presence": figures}
