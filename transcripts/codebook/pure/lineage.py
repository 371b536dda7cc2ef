"""What became of a code from version to version: where it came from, what it was called, what it went into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

MERGED, SPLIT, RETIRED = "merged", "split", "retired"


class Step(NamedTuple):
    """A change of a code as a version records it; ``version`` is the number of the version that made it.

    The names are what the two codes are called, for those who read.
    """

    version: int
    kind: str
    from_identifier: str
    to_identifier: str
    effect: str = ""
    reason: str = ""
    made_by: str = ""
    from_name: str = ""
    to_name: str = ""


@dataclass
class Origin:
    """A code from which another came, by which step, with its own history."""

    step: Step
    lineage: Lineage


@dataclass
class Lineage:
    """The history of one code. ``last_version`` is the newest version that has it.

    ``renamings``: the version with which the code got another name, the name before and the name after.
    """

    identifier: str
    name: str
    first_version: int
    last_version: int
    renamings: list[tuple[int, str, str]] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    endings: list[Step] = field(default_factory=list)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to tell but when it began."""
        return not (self.renamings or self.origins or self.endings)


Names = Mapping[int, Mapping[str, str]]
"""The name of every code under its identifier, for each version by its number."""


def trace(identifier: str, names: Names, steps: Sequence[Step]) -> Lineage | None:
    """The history of a code over these versions; ``None`` when none of them has it."""
    return _trace(identifier, names, steps, frozenset())


def _trace(identifier: str, names: Names, steps: Sequence[Step], seen: frozenset[str]) -> Lineage | None:
    held = [(number, names[number][identifier]) for number in sorted(names) if identifier in names[number]]
    if not held:
        return None
    (first, _), (last, name) = held[0], held[-1]
    lineage = Lineage(identifier, name, first, last)
    for (_, before), (number, after) in pairwise(held):
        if before != after:
            lineage.renamings.append((number, before, after))
    for step in steps:
        if step.version not in names or step.kind not in {MERGED, SPLIT, RETIRED}:
            continue
        if step.to_identifier == identifier and step.from_identifier not in seen | {identifier}:
            earlier = {number: known for number, known in names.items() if number < step.version}
            origin = _trace(step.from_identifier, earlier, steps, seen | {identifier})
            if origin is not None:
                lineage.origins.append(Origin(step, origin))
        elif step.from_identifier == identifier and identifier not in names[step.version]:
            lineage.endings.append(step)
    return lineage


def follow(identifier: str, steps: Iterable[Step], identifiers: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """What became of a code by these steps, taken in order, and the identifiers that took its place.

    ``identifiers`` are the codes of the later version.
    A code that is there is ``kept``, whatever was merged into it or split off. One that is gone without a step is
    ``retired``, and so is one all of whose successors are.
    """
    present = frozenset(identifiers)
    if identifier in present:
        return "kept", (identifier,)
    places, kind = [identifier], RETIRED
    for step in steps:
        if step.kind in {MERGED, SPLIT} and step.from_identifier in places and step.from_identifier not in present:
            kind = step.kind if kind == RETIRED or step.kind == SPLIT else kind
            if step.to_identifier not in places:
                places.append(step.to_identifier)
    found = tuple(place for place in places if place in present)
    return (kind, found) if found else (RETIRED, ())


def follow_merges(identifier: str, into: Mapping[str, str]) -> str:
    """What a code is now: what it went into, and what that went into; itself where it was not merged.

    ``into``: what each code that was merged went into.
    """
    seen = {identifier}
    while (following := into.get(identifier)) and following not in seen:
        identifier = following
        seen.add(identifier)
    return identifier
