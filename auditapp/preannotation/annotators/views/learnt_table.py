"""What a learnt annotator had to learn from, and how it did on interviews it had not seen, code by code.

Where a family is read reflexively, precision and recall stay out, as on the calibration page: somebody who sets the
method may ask for them on the annotator's page, with a reason.
"""

from __future__ import annotations

from typing import Any

from auditapp.preannotation.models import Annotator
from transcripts.agreement.pure.shares import Share
from transcripts.projects.models import MethodStance
from transcripts.projects.queries import read_stances


def read_learnt(annotator: Annotator, *, shown: str = "") -> dict[str, Any] | None:
    """The table of a learnt annotator, as its recipe has it; None for others. Reads annotator.version, annotator.project.

    ``tried``: what there was of each code to learn from, with precision and recall where it was tested. ``untried``: codes
    with too few examples. ``hidden``: identifiers and names of families whose figures stay out; ``shown`` is one that was
    asked for with a reason.
    """
    if annotator.kind != Annotator.Kind.LEARNT:
        return None
    stances = read_stances(annotator.project)
    named = annotator.version.codes.values_list("identifier", "family__identifier", "family__name")
    families = {code: (family, name) for code, family, name in named}
    tried, untried = list[dict[str, Any]](), list[dict[str, Any]]()
    hidden: dict[tuple[str, str], None] = {}
    for code, found in annotator.recipe.get("codes", {}).items():
        tp, fp, fn = (found.get(cell) for cell in ("tp", "fp", "fn"))
        if found.get("reason") and tp is None:
            untried.append({"code": code, **found})
            continue
        family = families.get(code, ("", ""))
        is_tested = None not in {tp, fp, fn}
        is_hidden = is_tested and family[0] != shown and stances.find(family[0]) == MethodStance.Stance.REFLEXIVE
        row = {"code": code, "found": found, "threshold": found.get("threshold"), "is_hidden": is_hidden}
        if is_hidden:
            hidden[family] = None
        elif is_tested:
            row |= {"precision": Share(tp, tp + fp), "recall": Share(tp, tp + fn)}
        tried.append(row)
    return {"tried": tried, "untried": untried, "hidden": list(hidden)}
