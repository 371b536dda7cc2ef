"""The invented sentences that come with the program, with their codes. Plain Python, no database."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

OWN_SET = Path(__file__).resolve().parents[1] / "data" / "planted_sentences.json"


@cache
def read_own_set() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Text and known codes of each: two sentences for each seeded theme and each move, and ten that carry nothing."""
    rows = json.loads(OWN_SET.read_text(encoding="utf-8"))
    return tuple((each["text"], tuple(each["codes"])) for each in rows)
