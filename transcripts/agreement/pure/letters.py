"""The readings of one sentence as A, B, C: in an order that has nothing to do with who reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Readings = dict[int, tuple[str, ...]]
"""The codes each coder applied to a sentence, in the order of A, B, C; an empty tuple means that none applies."""


def order_readings(sentence_id: int, found: Mapping[int, Sequence[str]]) -> Readings:
    """The readings in their order for this sentence, so that A is not always the same person."""
    ordered = sorted(found, key=lambda coder: hashlib.sha256(f"{sentence_id}:{coder}".encode()).digest())
    return {coder: tuple(found[coder]) for coder in ordered}


def list_stored(readings: Readings) -> list[dict[str, object]]:
    """The readings as an adjudication keeps them."""
    return [{"coder": coder, "codes": list(codes)} for coder, codes in readings.items()]


def name_letter(place: int) -> str:
    """A for the first, B for the second; after Z numbers."""
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def fingerprint(readings: Readings) -> str:
    """A short name of exactly these readings, so that what is decided about is what was shown."""
    text = json.dumps(list_stored(readings))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
