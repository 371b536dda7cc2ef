"""The published themes as a codebook, to begin a study of rationales with."""

from __future__ import annotations

import io
import re

from auditapp.benchmarks.gender_cues.pure.instruments import load_published_themes
from transcripts.formats.codebook_csv import CodeRow, write_codebook

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
