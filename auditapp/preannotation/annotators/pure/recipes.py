"""What an annotator that needs no provider is made of, as it is kept with it. Knows nothing of Django.

Rules: ``{"reader", "rules": {code: [line]}}``. Learnt: ``{"reader", "seed", "minimum", "set": {"hash", "families":
{family: {"decided", "codes": {code: {"yes", "tied"}}}}}, "taught": {"sentences", "interviews", "spared", "refused"},
"codes": {code: counts}}``, where numbers of sentences are written as ranges (``"4-9 12"``). ``refused`` counts the decided
sentences of interviews that say no, and is left out where there are none. ``reader`` names the way of reading. The set is there
whole, so that the same is learnt from it again however the study goes on; ``codes`` is what it came to, and is filled in when it
is first learnt, with ``judged_with``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

Recipe = Mapping[str, Any]


def list_read_codes(recipe: Recipe) -> list[str]:
    """The codes it reads for. Of any other code it says nothing, which is not "no"."""
    if "rules" in recipe:
        return [code for code, lines in recipe["rules"].items() if lines]
    return [code for code, found in recipe.get("codes", {}).items() if found.get("threshold") is not None]


def list_taught(recipe: Recipe) -> set[int]:
    """The numbers of the sentences it learnt from: no test of it."""
    families = recipe.get("set", {}).get("families", {}).values()
    return {number for family in families for number in read_ranges(family["decided"])}


def write_ranges(numbers: Iterable[int]) -> str:
    """Whole numbers in ascending order, those that follow each other as one range."""
    ordered = sorted(set(numbers))
    if not ordered:
        return ""
    breaks = [place for place, (one, following) in enumerate(pairwise(ordered), 1) if following != one + 1]
    starts, ends = [0, *breaks], [*breaks, len(ordered)]
    return " ".join(
        str(ordered[start]) if end == start + 1 else f"{ordered[start]}-{ordered[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    )


def read_ranges(written: str) -> list[int]:
    """The numbers of such a text."""
    found: list[int] = []
    for part in written.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def hash_content(content: object) -> str:
    """SHA-256 of anything JSON can hold, however its keys are ordered."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
