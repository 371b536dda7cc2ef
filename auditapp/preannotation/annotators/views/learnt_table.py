"""What a learnt annotator had to learn from, and how it did on interviews it had not seen, code by code.

Where a family is read reflexively, precision and recall stay out, as on the calibration page: somebody who sets the
method may ask for them on the annotator's page, with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from auditapp.preannotation.models import Annotator
from transcripts.agreement.shares import Share
from transcripts.projects.models import MethodStance
from transcripts.projects.queries import read_stances


class LearntCode(NamedTuple):
    """What there was of a code to learn from, and how it did on interviews it had not seen; both none before that."""

    code: str
    found: Mapping[str, Any]
    precision: Share | None
    recall: Share | None
    is_hidden: bool = False

    @property
    def threshold(self) -> float | None:
        return self.found.get("threshold")


class LearntTable(NamedTuple):
    """Codes that were tried, codes with too few examples, and families (identifier, name) of which figures stay out."""

    tried: list[LearntCode]
    untried: list[Mapping[str, Any]]
    hidden: list[tuple[str, str]]


def read_learnt(annotator: Annotator, *, shown: str = "") -> LearntTable | None:
    """The table of a learnt annotator, as its recipe has it; None for others. ``shown``: a family asked for with a reason.

    Reads annotator.version, annotator.project.
    """
    if annotator.kind != Annotator.Kind.LEARNT:
        return None
    stances = read_stances(annotator.project)
    named = annotator.version.codes.values_list("identifier", "family__identifier", "family__name")
    families = {code: (family, name) for code, family, name in named}
    tried, untried = list[LearntCode](), list[Mapping[str, Any]]()
    hidden: dict[tuple[str, str], None] = {}
    for code, found in annotator.recipe.get("codes", {}).items():
        if found.get("reason") and found.get("tp") is None:
            untried.append({"code": code, **found})
            continue
        family = families.get(code, ("", ""))
        is_hidden = family[0] != shown and stances.find(family[0]) == MethodStance.Stance.REFLEXIVE
        tried.append(_judge(code, found, is_hidden=is_hidden))
        if tried[-1].is_hidden:
            hidden[family] = None
    return LearntTable(tried, untried, list(hidden))


def _judge(code: str, found: Mapping[str, Any], *, is_hidden: bool) -> LearntCode:
    tp, fp, fn = (found.get(cell) for cell in ("tp", "fp", "fn"))
    if tp is None or fp is None or fn is None:
        return LearntCode(code, found, None, None)
    if is_hidden:
        return LearntCode(code, found, None, None, is_hidden=True)
    return LearntCode(code, found, Share(tp, tp + fp), Share(tp, tp + fn))
