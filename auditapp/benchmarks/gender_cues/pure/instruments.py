"""The prompts of the probe: those of the paper as far as they can be reconstructed, and one of ours that lets the model abstain.

A prompt is the system message; the review is the user message.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.benchmarks.gender_cues.pure.limits import CONDITIONS

_FILE = Path(__file__).parent.parent / "data" / "prompts.json"


class Prompt(NamedTuple):
    """The exact instructions of a condition. ``origin`` says where they are from."""

    condition: str
    title: str
    text: str
    origin: str
    sha256: str


@cache
def load_prompts() -> dict[str, Prompt]:
    """The prompt of each condition, in the order of ``CONDITIONS``."""
    data = _read()
    prompts = {}
    for condition in CONDITIONS:
        stored = data["conditions"][condition]
        text = "\n".join(stored["lines"])
        digest = hashlib.sha256(text.encode()).hexdigest()
        prompts[condition] = Prompt(condition, stored["title"], text, stored["origin"], digest)
    return prompts


def load_published_themes() -> list[tuple[str, str]]:
    """The themes of the paper's Table 2, each with the block it stands in: ``woman`` or ``man``."""
    return [(name, block) for block, names in _read()["themes"].items() for name in names]


def cite_source() -> str:
    """Where prompts and themes are from, for pages and the methods paragraph."""
    return str(_read()["source"])


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
