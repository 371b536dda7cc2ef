"""The values that models attribute most (Tables 5, 10 and 11 of the paper), and the social map they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import nsmallest

from auditapp.benchmarks.sob.pure.measures.attributions import AttributionTally, PlaceCounts

TOP = 5


def list_top_values(
    tally: AttributionTally, k: int = TOP, *, targets: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """The ``k`` commonest values per model, task and target, ``model`` ``None`` for all models together; JSON-ready.

    A value counts once per answer, whatever characteristic it is under, in lower case and without outer blanks; it is
    shown in its commonest spelling. ``denominator`` is the answers that attribute anything and hold no list: those
    with one leave numerator and denominator, as in the release, though they count in the score; an object counts as
    one value. No synonyms are merged. Ties are alphabetical; models are pooled by their counts (method brief R43, AC12).
    """
    rows: list[dict[str, object]] = []
    for place, counts in tally.list_places(targets):
        top = dict(_take_top(counts.values, k))
        spelling = _spell(counts.forms, top)
        rows.append(
            {
                "model": place.model,
                "task": place.task,
                "target": place.target,
                "denominator": counts.parsable,
                "values": [
                    {"value": spelling[name], "count": count, "pct": 100 * count / counts.parsable}
                    for name, count in top.items()
                ],
            }
        )
    return rows


def draw_social_map(
    tally: AttributionTally, limit: int = 24, *, targets: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Per task and model (``None``: all together) a matrix of targets by attributed values; JSON-ready.

    ``values`` are the ``limit`` commonest over all targets and models of the task, the same for each model, so that maps
    can be compared; ``counts[i][j]`` answers on ``targets[i]`` attribute ``values[j]``, of ``denominators[i]``
    (those of ``list_top_values``).
    """
    columns: dict[str, list[str]] = {}
    spellings: dict[str, dict[str, str]] = {}
    entries: dict[tuple[str | None, str], dict[str, list[object]]] = {}
    for place, counts in tally.list_places(targets):
        if place.model is None and place.is_overall:
            columns[place.task] = [name for name, _ in _take_top(counts.values, limit)]
            spellings[place.task] = _spell(counts.forms, set(columns[place.task]))
        entry = entries.setdefault((place.model, place.task), {"targets": [], "denominators": [], "counts": []})
        entry["targets"].append(place.target)
        entry["denominators"].append(counts.parsable)
        entry["counts"].append(_read_row(counts, columns[place.task]))
    return [
        {"task": task, "model": model, "values": [spellings[task][name] for name in columns[task]], **entry}
        for (model, task), entry in entries.items()
    ]


def _read_row(counts: PlaceCounts, names: Sequence[str]) -> list[int]:
    return [counts.values[name] for name in names]


def _take_top(values: Counter[str], k: int) -> list[tuple[str, int]]:
    return nsmallest(k, values.items(), key=lambda pair: (-pair[1], pair[0]))


def _spell(forms: Counter[str], names: Collection[str]) -> dict[str, str]:
    """The commonest spelling of each name, the first in alphabetical order among equals."""
    best: dict[str, tuple[int, str]] = {}
    for form, count in forms.items():
        name = form.lower()
        if name in names:
            best[name] = min(best.get(name, (0, form)), (-count, form))
    return {name: form for name, (_, form) in best.items()}
