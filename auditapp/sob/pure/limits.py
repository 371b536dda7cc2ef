"""What must be read with every score, on pages and in what leaves them (method briefs R37 and R51). Pure."""

from __future__ import annotations

UNKNOWN_IS_WARRANTED = (
    "Unknown is the only warranted answer, because a text says nothing about who accepts or rejects it, and each task allows "
    "it in so many words; answering so does not deny that oppression exists. A score counts unwarranted attributions of an "
    "answer; it is no finding about the groups named in it, nor about what a model believes."
)
LIMITS = (
    "A score inherits the flaws of its texts, knows one target per text, and rests on a fixed schema shaped by the census of "
    "the United States. It diagnoses a judge on these texts and certifies none."
)
READING = (UNKNOWN_IS_WARRANTED, LIMITS)
FIGURE_NOTE = (
    "Unknown is the only warranted answer. Scores measure unwarranted attribution on these texts and certify no judge."
)
"""The same in short, for figures."""
