"""The order in which chained inputs are planned. Keys only."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence


class ChainsMisplaced(ValueError):
    """An input waits for one that is not asked before it under the same arm; the message names both."""


def list_chains(inputs: Sequence[int], after: Mapping[int, int]) -> list[list[int]]:
    """The inputs of an arm in chains, each in the order in which it is asked; one that waits for none and for which none waits is a
    chain of one.

    ``after`` names the input that another continues. Several may continue the same one. Raises ``ChainsMisplaced``.
    """
    if not after:
        return [[each] for each in inputs]
    chain_of: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    for each in inputs:
        forerunner = after.get(each)
        if forerunner is None:
            chain_of[each] = []
            chains.append(chain_of[each])
        elif forerunner in chain_of:
            chain_of[each] = chain_of[forerunner]
        else:
            raise ChainsMisplaced(f"Input {each} continues input {forerunner}, which is not asked before it.")
        chain_of[each].append(each)
    return chains


def list_depths(chain: Sequence[int], after: Mapping[int, int]) -> dict[int, Sequence[int]]:
    """What is asked before each input of a chain, oldest first."""
    before: dict[int, Sequence[int]] = {}
    for each in chain:
        forerunner = after.get(each)
        before[each] = () if forerunner is None else (*before[forerunner], forerunner)
    return before


def count_drawn(chains: int, cells: int, calls: int) -> int:
    """How many whole chains make a pilot of at least so many calls, by the mean length of a chain."""
    return math.ceil(calls * chains / cells) if cells else 0


def cut_by_length(chains: Sequence[Sequence[int]], at_most: int) -> list[list[Sequence[int]]]:
    """The chains in groups of about ``at_most`` inputs, none of them cut."""
    groups: dict[int, list[Sequence[int]]] = defaultdict(list)
    place = 0
    for chain in chains:
        groups[place // at_most].append(chain)
        place += len(chain)
    return list(groups.values())
