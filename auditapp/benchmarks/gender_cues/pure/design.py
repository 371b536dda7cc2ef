"""The words and limits of the probe that more than one module needs.

The prompts of the probe: those of the paper as far as they can be reconstructed, and one of ours that lets the model abstain.

A prompt is the system message; the review is the user message.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from transcripts.formats.codebook_csv import CodeRow, write_codebook

WOMAN, MAN, ANDROGYNOUS, UNKNOWN = "woman", "man", "androgynous", "unknown"
CATEGORIES = (WOMAN, MAN, ANDROGYNOUS, UNKNOWN)
"""What a method can infer from a first name. The first two are scored, the others counted beside."""
SCORED = (WOMAN, MAN)

CONTROL, PRIMED, MAY_ABSTAIN = "control", "primed", "may_abstain"
CONDITIONS = (CONTROL, PRIMED, MAY_ABSTAIN)
CONDITION_NAMES = {CONTROL: "Control", PRIMED: "Primed for emotion", MAY_ABSTAIN: "May abstain"}

MIN_TEXTS = 30
"""Texts of each scored category that a launch asks about, at least."""
MAX_KEPT = 50_000
"""Texts that a study keeps of one file."""
MAX_TEXT_LENGTH = 100_000
"""Characters of one text."""

CAVEATS = (
    "Binary, because the design that is replicated is: woman or man.",
    "Nothing here is a claim about a person. Figures are of groups of texts.",
    "The category of a text was inferred from its author's first name; the error of that method is unknown.",
)
"""What stands on every page and beside every table of the probe."""


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


_FAMILIES = {"woman": "Themes associated with women", "man": "Themes associated with men"}
NOT_DEFINED = "Named in Table 2 of the paper, which does not define it. Write a definition before coding."


def write_theme_codebook() -> str:
    """A codebook as CSV with the 18 themes of Table 2, coded by turn, in the two blocks in which the paper prints them."""
    rows = [
        CodeRow(
            code_id=f"theme_{block}.{re.sub(r'[^a-z]+', '_', name.lower())}",
            family=f"themes_{block}",
            family_name=_FAMILIES[block],
            name=name,
            definition=NOT_DEFINED,
            unit="turn",
            source="Table 2",
            carries_level=False,
            carries_enactment=False,
            once_per_answer=True,
            applies_to="model",
        )
        for name, block in load_published_themes()
    ]
    stream = io.StringIO(newline="")
    write_codebook(rows, stream)
    return stream.getvalue()
