"""Shares of what was counted in threads, and how certain they are.

Units of one thread depend on one another, so a thread is the unit of evidence: intervals are over threads, and few is counted in
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from transcripts.statistics.figures import MIN_CLUSTERS, Interval, Mark, Share, mark_clusters, newcombe_interval

Tally = Mapping[str, tuple[int, int]]
"""Of each thread, how many units count and out of how many. Threads that hang together may stand as one."""


class Certainty(NamedTuple):
    """``ci``: the 95 % interval, None where there is none. ``threads``: of how many the figure is, and the ``mark`` for it."""

    ci: list[float] | None
    threads: int
    mark: Mark | None

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def sum_up(tally: Tally) -> Share:
    """The share over all threads: of the units, so that a thread counts as often as it has some."""
    return Share(sum(part for part, _ in tally.values()), sum(n for _, n in tally.values()))


def bound_share(tally: Tally) -> Certainty:
    """How certain the share of a tally is. Threads without a unit do not count; below three others there is no interval.

    Where each thread has one unit it is Wilson's interval, and otherwise that of a share over clusters.
    """
    used = [counts for counts in tally.values() if counts[1]]
    if not is_one_each(tally) and len(used) >= MIN_CLUSTERS:
        from transcripts.statistics.resampling import average_clusters

        share = average_clusters(*zip(*used, strict=True))
        return _describe(share.interval if share else None, len(used))
    return _describe(sum_up(tally).interval, len(used))


def bound_difference(first: Tally, second: Tally) -> Certainty:
    """How certain the share of one tally less that of another is; both may be of the same threads.

    ``threads`` are those of the tally that has fewer. Where no thread has two units it is Newcombe's interval, and otherwise the
    hybrid of two intervals of shares over clusters, which knows how the shares go together in the threads.
    """
    threads = min(sum(1 for _, n in tally.values() if n) for tally in (first, second))
    if is_one_each(first, second) or threads < MIN_CLUSTERS:
        return _describe(newcombe_interval(*sum_up(first), *sum_up(second)), threads)
    from transcripts.statistics.resampling import average_clusters, correlate_shares, subtract_shares

    counts = [(*first.get(each, (0, 0)), *second.get(each, (0, 0))) for each in {**first, **second}]
    columns = list(zip(*counts, strict=True))
    shares = average_clusters(*columns[:2]), average_clusters(*columns[2:])
    return _describe(subtract_shares(*shares, correlate_shares(*columns)).interval, threads)


def _describe(interval: Interval | None, threads: int) -> Certainty:
    ends = [*interval] if interval and threads >= MIN_CLUSTERS else None
    return Certainty(ends, threads, mark_clusters(threads) if threads else None)


def is_one_each(*tallies: Tally) -> bool:
    """Whether no thread has more than one unit, in all tallies together: then units are as independent as threads."""
    units: dict[str, int] = {}
    for tally in tallies:
        for thread, (_, n) in tally.items():
            units[thread] = units.get(thread, 0) + n
    return all(n <= 1 for n in units.values())


def add_units(units: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """The tally of units by thread, each with whether it counts."""
    tally: dict[str, tuple[int, int]] = {}
    for thread, counts in units:
        part, n = tally.get(thread, (0, 0))
        tally[thread] = part + counts, n + 1
    return tally
