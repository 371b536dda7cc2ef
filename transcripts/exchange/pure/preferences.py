"""Which of two threads people scored higher, under one normative stance."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

Given = Mapping[tuple[str, str], int]
"""The values of a thread, by criterion and coder."""


class Preference(NamedTuple):
    """``sign``: 1 where the first thread is preferred, -1 where the second is, 0 where neither is. ``means``: by criterion, of
    the first and of the second."""

    sign: int
    means: dict[str, tuple[float, float]]


def find_preference(first: Given, second: Given) -> Preference | None:
    """Compare two threads by the people who scored both on a criterion; ``None`` where they gave nothing different.

    A thread is preferred if its mean is higher on a criterion, and lower on none. Criteria are never added up: nobody said what
    one weighs against another.
    """
    both: dict[str, list[tuple[int, int]]] = {}
    for key in sorted(first.keys() & second.keys()):
        both.setdefault(key[0], []).append((first[key], second[key]))
    means = {
        criterion: (fmean(one for one, _ in given), fmean(other for _, other in given))
        for criterion, given in both.items()
    }
    signs = {(one > other) - (one < other) for one, other in means.values()} - {0}
    if not signs:
        return None
    return Preference(signs.pop() if len(signs) == 1 else 0, means)
