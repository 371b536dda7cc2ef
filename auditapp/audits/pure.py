"""What the marks of several reviewers have in common, whatever they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Protocol, TypeVar

SMALL_SAMPLE = 30


class ReviewerMark(Protocol):
    @property
    def item(self) -> int: ...

    @property
    def reviewer(self) -> str: ...


Mark = TypeVar("Mark", bound=ReviewerMark)


def group_marks(marks: Iterable[Mark], *, reviewer: str | None = None) -> dict[int, list[Mark]]:
    """The marks of each item, by one reviewer or (None) by all."""
    found: dict[int, list[Mark]] = {}
    for mark in marks:
        if reviewer is None or mark.reviewer == reviewer:
            found.setdefault(mark.item, []).append(mark)
    return found


def pair_reviewers(marks: Iterable[Mark]) -> Iterator[tuple[str, str, list[tuple[Mark, Mark]]]]:
    """Every two reviewers, with their marks of the items that both marked."""
    own: dict[str, dict[int, Mark]] = {}
    for mark in marks:
        own.setdefault(mark.reviewer, {})[mark.item] = mark
    for first, second in combinations(sorted(own), 2):
        shared = sorted(own[first].keys() & own[second].keys())
        yield first, second, [(own[first][item], own[second][item]) for item in shared]


def measure_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two reviewers' yes and no; None where it is not defined."""
    # Loads numpy.
    from transcripts.statistics.coefficients import find_kappa

    counts = Counter(pairs)
    return find_kappa(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def warn_of_unmarked(marked: int, size: int) -> list[str]:
    """A warning where not all items are marked."""
    if marked == size:
        return []
    warning = f"{marked:,} of {size:,} items are marked. They are in random order, so these are a random sample too if "
    return [warning + "nobody picked among them."]
