"""What to consider before a model annotates or judges: its family, its own suggestions, and its results as a judge.

Models judge their own answers more kindly, and two models of one family are not independent evidence. Families are
recognised by model names. Each warning is a ``code`` with its values; ``preannotation/_warning.html`` has the words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.families import group_by_family, name_family
from auditapp.llm.scorecards import find_part
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project

Warnings = list[dict[str, object]]


def warn_of_family(project: Project, variant: ModelVariant, interview_ids: Collection[int] | None) -> Warnings:
    """Whether the annotating model is of the family of an interviewed model, as far as their names tell. ``None``: any
    interview of the study."""
    family = _find_family(variant)
    if not family:
        return []
    rows = Interview.objects.filter(project=project).exclude(model_label="").values_list("pk", "model_label")
    wanted = None if interview_ids is None else set(interview_ids)
    labels = sorted({label for pk, label in rows if wanted is None or pk in wanted})
    same = [label for label in labels if name_family(label.replace(" ", "-")) == family]
    return [{"code": "same_family", "model": variant.label, "family": family, "labels": same}] if same else []


def warn_of_critic_family(annotator: Annotator, critic: ModelVariant) -> Warnings:
    """Whether the critic is the annotator's own model, or of its family. Reads annotator.variant.account."""
    if annotator.variant_id == critic.pk:
        return [{"code": "own_suggestions", "model": critic.label}]
    family = _find_family(critic)
    if family and family == _find_family(annotator.variant):
        return [{"code": "critic_family", "model": critic.label, "family": family, "annotator": annotator}]
    return []


def _find_family(variant: ModelVariant | None) -> str:
    """The family of a model by its name; "" for the fake provider and for annotators without a model."""
    return "" if variant is None or variant.is_fake else name_family(variant.model)


def warn_of_relatives(annotators: Iterable[Annotator]) -> Warnings:
    """Each model, and each family of models, behind more than one of these annotators."""
    annotators = list(annotators)
    variants: dict[int, list[str]] = {}
    for each in annotators:
        if each.variant is not None:
            variants.setdefault(each.variant.pk, []).append(str(each))
    families = group_by_family(
        (str(each), each.variant.model) for each in annotators if each.variant and not each.variant.is_fake
    )
    of_one_model = [names for names in variants.values() if len(names) > 1]
    warnings: Warnings = [{"code": "one_model", "names": names} for names in of_one_model]
    warnings += [
        {"code": "one_family", "names": names, "family": family}
        for family, names in families.items()
        if names not in of_one_model
    ]
    return warnings


def list_judge_results(project: Project, variant: ModelVariant) -> Warnings:
    """Before a model annotates interviews: its result as a judge in this study, or that there is none."""
    part = find_part("sob", project, variant)
    if part is not None:
        return [{"code": "judge_result", "model": variant.label, "summary": part.summary}]
    return [] if variant.is_fake else [{"code": "no_judge_result", "model": variant.label}]
