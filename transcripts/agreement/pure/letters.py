"""The readings of one sentence as A, B, C: in an order that has nothing to do with who reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Reading(NamedTuple):
    """The codes one coder applied to a sentence; an empty tuple means that none applies."""

    coder: int
    codes: tuple[str, ...]

    def as_stored(self) -> dict[str, object]:
        """The reading as an adjudication keeps it."""
        return {"coder": self.coder, "codes": list(self.codes)}


def order_readings(sentence_id: int, found: Mapping[int, Sequence[str]]) -> list[Reading]:
    """The readings in their order for this sentence, so that A is not always the same person."""
    ordered = sorted(found, key=lambda coder: hashlib.sha256(f"{sentence_id}:{coder}".encode()).digest())
    return [Reading(coder, tuple(found[coder])) for coder in ordered]


def name_letter(place: int) -> str:
    """A for the first, B for the second; after Z numbers."""
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def fingerprint(readings: Sequence[Reading]) -> str:
    """A short name of exactly these readings, so that what is decided about is what was shown."""
    text = json.dumps([reading.as_stored() for reading in readings])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
