"""A model that reads interviews with its own kind: said before a launch, for models judge their own answers more kindly."""

from __future__ import annotations

from collections.abc import Sequence

from auditapp.batches.reviewing import name_family
from auditapp.llm.models import ModelVariant
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


def warn_of_kin(project: Project, variant: ModelVariant, interviews: Sequence[Interview] | None) -> list[str]:
    """A sentence when the reader is of the family of an interviewed model, as far as their names tell."""
    chosen = Interview.objects.filter(project=project) if interviews is None else interviews
    labels = sorted({interview.model_label for interview in chosen if interview.model_label})
    family = "" if variant.is_fake else name_family(variant.model)
    kin = [label for label in labels if family and name_family(label.replace(" ", "-")) == family]
    if not kin:
        return []
    readings = ", ".join(kin)
    return [
        f"{variant.label} is of one family ({family}) with models it would read ({readings}): models judge their own more kindly."
    ]
