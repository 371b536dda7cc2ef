"""What part of the readings is looked at: one family, and of it some interviews, coders and codebook versions."""

from __future__ import annotations

from typing import NamedTuple

from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project
from transcripts.rounds.models import Round


class Selection(NamedTuple):
    """A family as the current codebook has it; what is ``None`` or empty leaves nothing out.

    ``model`` "" is the label of interviews whose model is not known.
    """

    family: CodeFamily
    round: Round | None = None
    model: str | None = None
    coders: frozenset[int] = frozenset()
    first_version: int | None = None
    last_version: int | None = None

    @property
    def has_span(self) -> bool:
        return self.first_version is not None or self.last_version is not None


def find_interviews(project: Project, selection: Selection) -> list[int] | None:
    """The numbers of the interviews that are looked at; ``None`` for all of the study."""
    interviews = project.interviews.order_by("pk")
    if selection.model is None and selection.round is None:
        return None
    if selection.model is not None:
        interviews = interviews.filter(model_label=selection.model)
    if selection.round is not None:
        interviews = interviews.filter(
            pk__in=selection.round.assignments.filter(withdrawn_at__isnull=True).values("interview")
        )
    return list(interviews.values_list("pk", flat=True))


def list_families(project: Project) -> list[CodeFamily]:
    """The families of the version people code with, in order."""
    version = current_version(project)
    if version is None:
        return []
    return list(version.families.select_related("version").order_by("position"))
