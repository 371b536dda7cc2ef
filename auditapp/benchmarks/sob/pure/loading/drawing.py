"""Draw a sample of texts and state what became of every row.

The generator is numpy's ``RandomState``, whose stream numpy promises never to change, so a seed draws the same rows in any
later version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy.random import RandomState

METHODS = {
    "proportional": "each stratum in its share (largest remainders)",
    "stratum": "equally many of each stratum",
    "simple": "at random, without strata",
}
BY_FIELDS = {
    "target": "target",
    "source": "source",
    "kind": "kind of bias",
    "target_raw": "the source's own label of the target",
}
DEFAULT_SEED = 42
MAX_SEED = 2**32 - 1
NOT_DRAWN = "not drawn"
SAME_AGAIN = "the same text again in its source"
NO_LABEL = "(none)"


class SampleError(ValueError):
    """A sentence: why this sample cannot be drawn."""


class Labelled(Protocol):
    """What a sample needs of a row: a ``DatasetText`` and a stored ``Text`` both have it."""

    @property
    def source(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def target_raw(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Draw(NamedTuple):
    """A sample as asked for: ``method`` is one of ``METHODS``, ``by`` one of ``BY_FIELDS`` (unused by "simple")."""

    size: int
    method: str = "proportional"
    by: str = "target"
    seed: int = DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class Statement:
    """How rows were chosen. ``strata`` counts the rows a draw could have taken ("read") and those it took ("kept")."""

    read: int
    kept: int
    method: str = ""
    seed: int | None = None
    by: str = ""
    size: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    strata: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def write(self) -> dict[str, object]:
        """As stored in ``Dataset.sampling``; empty where every row was taken without a draw."""
        if not self.method and not self.dropped:
            return {}
        return {
            "method": self.method,
            "seed": self.seed,
            "by": self.by,
            "size": self.size,
            "read": self.read,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "strata": {stratum: dict(counts) for stratum, counts in self.strata.items()},
        }


def draw_sample(
    rows: Sequence[Labelled],
    *,
    size: int,
    method: str = "proportional",
    by: str = "target",
    seed: int = DEFAULT_SEED,
) -> tuple[tuple[int, ...], Statement]:
    """The places of ``size`` of the rows, in their order. The same rows and seed always give the same sample.

    "proportional" shares the size by Hamilton's method (largest remainders); of equal remainders the larger stratum's comes
    first, then that earlier in the alphabet. "stratum" takes equally many of each; where a stratum has fewer, the others
    share what is left. Raises SampleError.
    """
    _check(rows, Draw(size, method, by, seed))
    if method == "simple":
        kept = choose_rows(range(len(rows)), size, start_generator(seed))
        dropped = {NOT_DRAWN: len(rows) - size} if size < len(rows) else {}
        statement = Statement(len(rows), size, method, seed, "", size, dropped)
        return kept, statement
    strata = group_rows(getattr(row, by) for row in rows)
    sizes = {stratum: len(places) for stratum, places in strata.items()}
    shares = share_by_size(sizes, size) if method == "proportional" else share_equally(sizes, size)
    generator = start_generator(seed)
    chosen = {stratum: choose_rows(strata[stratum], shares[stratum], generator) for stratum in sorted(strata)}
    kept = tuple(sorted(place for places in chosen.values() for place in places))
    statement = Statement(
        read=len(rows),
        kept=len(kept),
        method=method,
        seed=seed,
        by=by,
        size=size,
        dropped={NOT_DRAWN: len(rows) - size} if size < len(rows) else {},
        strata={stratum: {"read": sizes[stratum], "kept": shares[stratum]} for stratum in rank_strata(sizes)},
    )
    return kept, statement


def drop_repeated(rows: Iterable[Labelled]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The positions of the rows to keep, and of those whose exact text came earlier in the same source."""
    seen: set[tuple[str, str]] = set()
    kept: list[int] = []
    repeated: list[int] = []
    for place, row in enumerate(rows):
        key = (row.source, row.text)
        (repeated if key in seen else kept).append(place)
        seen.add(key)
    return tuple(kept), tuple(repeated)


def group_rows(labels: Iterable[str]) -> dict[str, list[int]]:
    """The places of each label; an empty one is ``NO_LABEL``."""
    strata: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        strata.setdefault(label or NO_LABEL, []).append(place)
    return strata


def rank_strata(sizes: Mapping[str, int]) -> list[str]:
    """The largest first, then by the alphabet."""
    return sorted(sizes, key=lambda stratum: (-sizes[stratum], stratum))


def share_by_size(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """``size`` in proportion to the strata, by largest remainders; never more than a stratum has."""
    total = sum(sizes.values())
    quotas = {stratum: Fraction(size * count, total) for stratum, count in sizes.items()}
    shares = {stratum: int(quota) for stratum, quota in quotas.items()}
    by_remainder = sorted(rank_strata(sizes), key=lambda stratum: shares[stratum] - quotas[stratum])
    for stratum in by_remainder[: size - sum(shares.values())]:
        shares[stratum] += 1
    return shares


def share_equally(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """``size`` in equal parts; what a small stratum lacks goes to the others, single rows to the largest first."""
    shares = dict.fromkeys(sizes, 0)
    left = size
    while left:
        open_strata = [stratum for stratum in rank_strata(sizes) if shares[stratum] < sizes[stratum]]
        part = max(left // len(open_strata), 1)
        for stratum in open_strata:
            more = min(part, sizes[stratum] - shares[stratum], left)
            shares[stratum] += more
            left -= more
    return shares


def start_generator(seed: int) -> RandomState:
    """A generator whose draws do not change with numpy's version."""
    from numpy.random import RandomState

    return RandomState(seed)


def choose_rows(places: Sequence[int], count: int, generator: RandomState) -> tuple[int, ...]:
    """``count`` of the places without putting back, in their order."""
    return tuple(sorted(places[int(index)] for index in generator.choice(len(places), count, replace=False)))


def _check(rows: Sequence[Labelled], draw: Draw) -> None:
    if draw.method not in METHODS:
        raise SampleError(f'There is no way of sampling "{draw.method}". Choose one of {", ".join(METHODS)}.')
    if draw.method != "simple" and draw.by not in BY_FIELDS:
        raise SampleError(f'Texts are not sampled by "{draw.by}". Choose one of {", ".join(BY_FIELDS)}.')
    if not 0 <= draw.seed <= MAX_SEED:
        raise SampleError(f"The seed is a whole number from 0 to {MAX_SEED}.")
    if not 1 <= draw.size <= len(rows):
        raise SampleError(f"A sample of {draw.size} texts cannot be drawn from {len(rows)}. Ask for 1 to {len(rows)}.")
