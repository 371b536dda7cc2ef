"""What a coding has answered, and another code asks for as well."""

from __future__ import annotations

from transcripts.codebook.models import Code
from transcripts.coding.models import Coding


def keep_answers(coding: Coding, code: Code) -> dict[str, str]:
    """Those answers that ``code`` asks for as well; the others stay on the old row."""
    kept = {}
    for question in code.attributes:
        answer = coding.attributes.get(question["key"])
        if answer and (question["kind"] != "choice" or answer in question["choices"]):
            kept[question["key"]] = answer
    return kept
