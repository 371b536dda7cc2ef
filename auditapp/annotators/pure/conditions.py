"""The ways in which an annotator is asked the same thing differently, to learn what its answers hang on. Plain Python.

Each condition changes the codes as the prompt has them and gives the way back to the study's own identifiers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from auditapp.annotators.pure.prompts import CodeText

REPEAT, REVERSED, GENERIC, SWAPPED, REASK = "repeat", "reversed", "generic", "swapped", "reask"
FIRST = "repeat-1"
T = TypeVar("T")

# The codes of one question; where identifiers were changed, the study's own by the one in the prompt; where definitions
# were, by the identifier in the prompt the code whose definition was given under it.
ChangedCodes = tuple[tuple[CodeText, ...], Mapping[str, str], Mapping[str, str]]


def name_repeats(repeats: int) -> list[str]:
    """The conditions that change nothing: the same question so many times."""
    return [f"{REPEAT}-{number}" for number in range(1, repeats + 1)]


def list_conditions(repeats: int, *, asked: int, in_family: int) -> list[str]:
    """What can be changed in a question about so many codes at once, of a family of so many: one code has no order, and
    a family of one nothing to swap with."""
    return [
        *name_repeats(repeats),
        *([REVERSED] if asked > 1 else []),
        GENERIC,
        *([SWAPPED] if in_family > 1 else []),
    ]


def change_codes(condition: str, codes: Sequence[CodeText]) -> ChangedCodes:
    """The codes of a family under a condition of ``list_conditions``. Raises ``ValueError`` for any other."""
    if condition == REVERSED:
        return tuple(reversed(codes)), {}, {}
    if condition == GENERIC:
        return _name_by_number(codes)
    if condition == SWAPPED:
        return swap_definitions(codes)
    if condition.partition("-")[0] == REPEAT:
        return tuple(codes), {}, {}
    raise ValueError(f"no condition {condition!r}")


def shuffle_codes(codes: Sequence[T], seed: int) -> list[T]:
    """The codes in another order, the same for the same seed; never the order they came in, where there is another."""
    shuffled = list(codes)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return shuffled if shuffled != list(codes) else shuffled[1:] + shuffled[:1]


def _name_by_number(codes: Sequence[CodeText]) -> ChangedCodes:
    named = {f"C{number}": code for number, code in enumerate(codes, start=1)}
    changed = tuple(code._replace(identifier=name, name=name) for name, code in named.items())
    return changed, {name: code.identifier for name, code in named.items()}, {}


def swap_definitions(codes: Sequence[CodeText]) -> ChangedCodes:
    """Every code under its own name with the definition, and all that goes with it, of another.

    Neighbours change places; of an odd number the last three go round. Raises ``ValueError`` for fewer than two codes.
    """
    if len(codes) < 2:
        raise ValueError("one code has nothing to swap with")
    places = [place ^ 1 for place in range(len(codes))]
    if len(codes) % 2:
        places[-3:] = [len(codes) - 2, len(codes) - 1, len(codes) - 3]
    pairs = [(own, codes[place]) for own, place in zip(codes, places, strict=True)]
    return (
        tuple(other._replace(identifier=own.identifier, name=own.name) for own, other in pairs),
        {},
        {own.identifier: other.identifier for own, other in pairs},
    )
