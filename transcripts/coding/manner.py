"""How a code is put: all that a coding says beside the code, and the answers to the code's own questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from transcripts.coding.quoting import Span


class Manner(NamedTuple):
    """What makes one coding with a code differ from another. ``quote`` counts code points of the turn's text."""

    level: str = "semantic"
    enactment: str = ""
    note: str = ""
    quote: Span | None = None
    grounding: str = ""
    prompting: str = ""
    attributes: Mapping[str, str] = {}


def read_json(text: str | None) -> dict[str, Any]:
    """A JSON object that plain SQL hands out as text; empty where there is none."""
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
