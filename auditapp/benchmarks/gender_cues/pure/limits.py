"""The words and limits of the probe that more than one module needs."""

from __future__ import annotations

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
