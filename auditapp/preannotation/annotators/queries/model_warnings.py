"""A model that reads interviews with its own kind: said before a launch, for models judge their own answers more kindly."""

from __future__ import annotations

from collections.abc import Collection

from auditapp.llm.families import name_family
from auditapp.llm.models import ModelVariant
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
            f"{variant.label} is of one family ({family}) with models it would read ({readings}): models judge their own more "
            "kindly."
        )
    ]
