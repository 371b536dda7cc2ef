"""What to think of before a model reads or judges: its family, its own suggestions, and how it did as a judge.

Models judge their own answers more kindly, and two of one family are no independent evidence. Families are told by names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.families import group_by_family, name_family
from auditapp.llm.scorecards import find_part
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


def warn_of_kin(project: Project, variant: ModelVariant, interview_ids: Collection[int] | None) -> list[str]:
    """A sentence when the reader is of the family of an interviewed model, as far as their names tell. ``None``: any
    interview of the study."""
    family = "" if variant.is_fake else name_family(variant.model)
    if not family:
        return []
    rows = Interview.objects.filter(project=project).exclude(model_label="").values_list("pk", "model_label")
    wanted = None if interview_ids is None else set(interview_ids)
    labels = sorted({label for pk, label in rows if wanted is None or pk in wanted})
    kin = [label for label in labels if name_family(label.replace(" ", "-")) == family]
    if not kin:
        return []
    readings = ", ".join(kin)
    return [
        (
            f"{variant.label} is of the same family ({family}) as models it would annotate ({readings}): models judge their "
            "own more kindly."
        )
    ]


def find_family(variant: ModelVariant | None) -> str:
    """The family of a model by its name; "" for the fake provider and for annotators without a model."""
    return "" if variant is None or variant.is_fake else name_family(variant.model)


def warn_of_kindred_critic(annotator: Annotator, critic: ModelVariant) -> list[str]:
    """A sentence where the critic is the annotator's own model, or of its family. Reads annotator.variant.account."""
    if annotator.variant_id == critic.pk:
        return [f"{critic.label} would test its own suggestions: models judge their own answers more kindly."]
    family = find_family(critic)
    if family and family == find_family(annotator.variant):
        kind = f"{critic.label} is of one family ({family}) with {annotator}"
        return [f"{kind}: models judge their own more kindly, so few reversals say little."]
    return []


def list_relatives(annotators: Iterable[Annotator]) -> list[str]:
    """A sentence for each model, and each family of models, behind more than one of these annotators."""
    annotators = list(annotators)
    variants: dict[int, list[str]] = {}
    for each in annotators:
        if each.variant is not None:
            variants.setdefault(each.variant.pk, []).append(str(each))
    families = group_by_family(
        (str(each), each.variant.model) for each in annotators if each.variant and not each.variant.is_fake
    )
    told = [names for names in variants.values() if len(names) > 1]
    warnings = [f"{', '.join(names)} are one model: their agreement is no independent evidence." for names in told]
    warnings += [
        f"{', '.join(names)} are of one family ({family}): their agreement is no independent evidence."
        for family, names in families.items()
        if names not in told
    ]
    return warnings


def tell_of_judge(project: Project, variant: ModelVariant) -> list[str]:
    """Before a model reads interviews: its result as a judge in this study, or that there is none."""
    part = find_part("sob", project, variant)
    if part is not None:
        return [f"{variant.label} as a judge: {part.summary}"]
    if variant.is_fake:
        return []
    unknown = "nothing is known here of how it ascribes demographics without warrant"
    return [f"{variant.label} has no second-order-bias result in this study: {unknown}."]
