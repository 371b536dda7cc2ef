"""What became of a model's suggestions, for its card as a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from auditapp.llm.cards import CardFigure, CardPart, find_part
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.machine_use import count_suggestions
from transcripts.projects.models import Project

NOT_AGREEMENT = (
    "Kept and left come after a look at the suggestion, so they say how it was received, not how often machine and people "
    "agree when neither sees the other."
)


def read_parts(project: Project, variants: Sequence[ModelVariant]) -> dict[int, CardPart]:
    """By variant: suggestions made, answered and kept, by codebook version. Models that read nothing are left out."""
    figures: dict[int, list[CardFigure]] = {}
    totals: Counter[tuple[int, str]] = Counter()
    for each in count_suggestions(project).filter(variant__in=variants):
        totals[each.variant_id, "answered"] += each.answered
        totals[each.variant_id, "kept"] += each.kept
        share = f"{each.kept / each.answered:.0%}" if each.answered else "–"
        basis = (
            f"{each.kept} kept of {each.answered} answered, of {each.proposed} suggested; "
            f"codebook version {each.version.number}"
        )
        figures.setdefault(each.variant_id, []).append(CardFigure(f"Kept by people, {each.name}", share, basis))
    return {
        key: CardPart(
            "Suggestions to coders", rows, _summarise(totals[key, "answered"], totals[key, "kept"]), [NOT_AGREEMENT]
        )
        for key, rows in figures.items()
    }


def _summarise(answered: int, kept: int) -> str:
    if not answered:
        return "Read interviews here; nobody has answered a suggestion of its yet."
    return f"{kept} of its {answered} answered suggestions were kept by people."


def tell_of_judge(project: Project, variant: ModelVariant) -> list[str]:
    """Before a model reads interviews: its result as a judge in this study, or that there is none."""
    part = find_part("sob", project, variant)
    if part is not None:
        return [f"{variant.label} as a judge: {part.summary}"]
    if variant.is_fake:
        return []
    unknown = "nothing is known here of how it ascribes demographics without warrant"
    return [f"{variant.label} has no second-order-bias result in this study: {unknown}."]
