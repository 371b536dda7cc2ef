"""Allocating interviews to coders: the same plan for the same seed, on every machine.

No random numbers are used: items are ordered by the SHA-256 of the seed and their id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations


class CannotAllocate(Exception):
    """These numbers do not allow a plan; the message says why."""


def draw_items(label_of: Mapping[int, str], number: int, *, seed: int) -> dict[int, str]:
    """``number`` of these, drawn by the seed, or all if there are fewer; in the order of the keys."""
    drawn = set(_shuffle(sorted(label_of), seed, "draw")[:number])
    return {key: label for key, label in label_of.items() if key in drawn}


def allocate_items(
    label_of: Mapping[int, str], coders: Iterable[int], *, overlap_percent: int, readers: int = 2, seed: int = 0
) -> dict[int, tuple[int, ...]]:
    """The coders of each interview: one coder each, and ``readers`` different ones for ``overlap_percent`` of them.

    ``label_of`` has the model label of each interview by its key; the result is in the order of the keys. The number of shared
    interviews is rounded half up and spread over the labels by size. The numbers of any two coders differ by at most one,
    within each label and overall; the combinations of coders vary. Raises ``CannotAllocate``.
    """
    coders = _shuffle(coders, seed, "coder")
    _check(len(label_of), coders, overlap_percent=overlap_percent, readers=readers)
    groups = {label: [key for key in label_of if label_of[key] == label] for label in sorted(set(label_of.values()))}
    shared = _spread_overlap(groups, count_overlap(len(label_of), overlap_percent), seed)
    allocator = _Allocator(coders)
    allocation: dict[int, tuple[int, ...]] = {}
    for label, group in groups.items():
        order = _shuffle(sorted(group), seed, "item")
        several = set(order[: shared[label]])
        sizes = {key: readers if key in several else 1 for key in _shuffle(order, seed, "place")}
        allocation |= {key: tuple(sorted(readers_of)) for key, readers_of in allocator.allocate_group(sizes).items()}
    return dict(sorted(allocation.items()))


def count_overlap(items: int, percent: int) -> int:
    """The number of ``items`` with several coders: the exact share, rounded half up."""
    return (2 * items * percent + 100) // 200


def fingerprint(allocation: Mapping[int, tuple[int, ...]]) -> str:
    """A fingerprint of a plan, which differs for every other plan."""
    text = ";".join(f"{key}:{','.join(map(str, coders))}" for key, coders in allocation.items())
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Allocator:
    """Allocates interviews in blocks that contain every coder once.

    A group begins with an incomplete block of the coders with the fewest interviews so far. So counts differ by at most one,
    and an item that extends into the next block always finds enough other coders there.
    """

    def __init__(self, coders: list[int]) -> None:
        self._order = coders
        self._total: Counter[int] = Counter()
        self._together: Counter[tuple[int, int]] = Counter()

    def allocate_group(self, sizes: dict[int, int]) -> dict[int, list[int]]:
        """The coders of each item, given the number that each needs."""
        rest = sum(sizes.values()) % len(self._order)
        block = sorted(self._order, key=lambda coder: self._total[coder])[:rest]
        allocated: dict[int, list[int]] = {}
        for key, size in sizes.items():
            readers: list[int] = []
            while len(readers) < size:
                block = block or list(self._order)
                reader = self._choose(block, readers)
                block.remove(reader)
                readers.append(reader)
            for pair in combinations(sorted(readers), 2):
                self._together[pair] += 1
            allocated[key] = readers
        for readers in allocated.values():
            self._total.update(readers)
        return allocated

    def _choose(self, block: list[int], readers: list[int]) -> int:
        """The coder in the block who shares the fewest items with those who already have this item."""
        return min(
            (coder for coder in block if coder not in readers),
            key=lambda coder: sum(self._together[min(coder, other), max(coder, other)] for other in readers),
        )


def _check(items: int, coders: list[int], *, overlap_percent: int, readers: int) -> None:
    if not items:
        raise CannotAllocate("There are no interviews to allocate.")
    if not coders:
        raise CannotAllocate("Choose at least one coder.")
    if not 0 <= overlap_percent <= 100:
        raise CannotAllocate(
            f"The share assigned to several coders is {overlap_percent} per cent; it must be between 0 and 100."
        )
    if overlap_percent and not 2 <= readers <= len(coders):
        raise CannotAllocate(
            f"Each shared interview would have {readers} coders, out of {len(coders)} coder{'' if len(coders) == 1 else 's'}. "
            "Choose at least two, and at most the number of coders."
        )


def _spread_overlap(groups: dict[str, list[int]], wanted: int, seed: int) -> dict[str, int]:
    """The number of shared items of each label: by largest remainder, ties by the seed."""
    total = sum(map(len, groups.values()))
    shares = {label: divmod(wanted * len(group), total) for label, group in groups.items()}
    spread = {label: whole for label, (whole, _) in shares.items()}
    by_rest = sorted(groups, key=lambda label: (-shares[label][1], _digest(seed, "label", label)))
    for label in by_rest[: wanted - sum(spread.values())]:
        spread[label] += 1
    return spread


def _shuffle(keys: Iterable[int], seed: int, purpose: str) -> list[int]:
    return sorted(keys, key=lambda key: _digest(seed, purpose, str(key)))


def _digest(seed: int, purpose: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}:{purpose}:{key}".encode()).digest()
