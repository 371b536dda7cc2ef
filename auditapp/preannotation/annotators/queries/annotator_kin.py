"""Machines that are relatives of each other, as far as their names tell: their agreement is no independent evidence."""

from __future__ import annotations

from collections.abc import Iterable

from auditapp.llm.families import group_by_family, name_family
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.models import Annotator


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
