"""What the calls of chains cost: each sends more than the one before it, so they are averaged apart."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, variance

from auditapp.batches.models import Arm, Attempt, Cell
from auditapp.batches.pages.progress import FINISHED

MIN_CALLS = 2


def list_after(arm: Arm) -> dict[int, int]:
    """Which of the arm's inputs continues which other."""
    chained = Cell.objects.filter(arm=arm, after__isnull=False).order_by("pk")
    return dict(chained.values_list("input_id", "after__input_id"))


def list_before(inputs: Sequence[int], after: Mapping[int, int]) -> list[int]:
    """What is asked before these inputs, each behind what it continues itself."""
    found: dict[int, None] = {}
    for each in inputs:
        chain = []
        while (each := after.get(each, 0)) and each not in found:
            chain.append(each)
        found |= dict.fromkeys(reversed(chain))
    return list(found)


def read_own_by_depth(arm: Arm) -> tuple[int, float | None, float | None]:
    """The calls of a chained arm: their number, and mean and deviation of what a call that is left will cost, in nanodollars.

    A mean and a variance for each depth are weighted by the calls that are left at that depth (post-stratification: Cochran,
    Sampling Techniques, 3rd ed., 1977, 5A.9). Without two calls at each of these depths nothing is known: (0, None, None).
    """
    after = list_after(arm)
    depths = _Depths(after)
    costs: dict[int, list[int]] = defaultdict(list)
    answered = Attempt.objects.filter(arm=arm, end=Attempt.End.ANSWERED, cost_nano__isnull=False).order_by()
    for input_id, cost in answered.values_list("cell__input_id", "cost_nano"):
        costs[depths.find(input_id)].append(cost or 0)
    waiting = Cell.objects.filter(arm=arm).exclude(state__in=FINISHED).order_by()
    left = Counter(depths.find(input_id) for input_id in waiting.values_list("input_id", flat=True))
    count, whole = sum(map(len, costs.values())), left.total()
    if not whole or any(len(costs[depth]) < MIN_CALLS for depth in left):
        return 0, None, None
    mean = sum(n * fmean(costs[depth]) for depth, n in left.items()) / whole
    spread = sum(n * variance(costs[depth]) for depth, n in left.items()) / whole
    return count, mean, math.sqrt(spread)


class _Depths:
    """How many inputs are asked before each."""

    def __init__(self, after: Mapping[int, int]) -> None:
        self.after = after
        self.known: dict[int, int] = {}

    def find(self, input_id: int) -> int:
        """The depth of an input, 0 for one that continues none."""
        chain = [input_id]
        while chain[-1] in self.after and chain[-1] not in self.known:
            chain.append(self.after[chain[-1]])
        depth = self.known.get(chain[-1], 0)
        for each in reversed(chain[:-1]):
            depth += 1
            self.known[each] = depth
        return depth
