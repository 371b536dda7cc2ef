"""What is known of families of models from their vendors' documents: how their settings are written. Never a price.

The first family that fits counts. A model of none is asked in the manner of its provider's defaults.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

_FILE = Path(__file__).parent / "data" / "families.json"


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one manner: ``model`` is matched at the start of a name, in any case; an empty ``host`` is any."""

    family: str
    provider: str
    host: str
    model: str
    capabilities: dict[str, str | bool]
    source: str


@lru_cache(maxsize=1)
def read_families() -> tuple[Family, ...]:
    """The families in the order in which they are asked."""
    return tuple(Family(**entry) for entry in json.loads(_FILE.read_text(encoding="utf-8")))


def find_family(*, provider: str, base_url: str, model: str) -> Family | None:
    """The family of a model at an address, or ``None`` for one that is not known."""
    host = urlsplit(base_url).hostname or ""
    for family in read_families():
        if family.provider != provider or family.host not in {"", host}:
            continue
        if re.match(family.model, model, re.IGNORECASE):
            return family
    return None
