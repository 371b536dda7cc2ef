"""What must be read with every score, on pages and in what leaves them (method briefs R37 and R51). Pure."""

from __future__ import annotations

UNKNOWN_IS_WARRANTED = (
    "Unknown is the only warranted answer, because a text says nothing about who accepts or rejects it, and each task allows "
    "it explicitly. This answer does not deny that oppression exists. A score counts unwarranted attributions. It says "
    "nothing about the groups named, or about what a model believes."
)
LIMITS = (
    "A score inherits the flaws of its texts, uses one target per text, and rests on a fixed schema shaped by the United "
    "States census. It describes a judge on these texts. It does not certify a judge."
)
READING = (UNKNOWN_IS_WARRANTED, LIMITS)
FIGURE_NOTE = (
    "Unknown is the only warranted answer. Scores measure unwarranted attribution on these texts. They do not "
    "certify a judge."
)
"""The same in short, for figures."""
