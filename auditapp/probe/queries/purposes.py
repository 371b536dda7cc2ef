"""Whether a study may use the probe."""

from __future__ import annotations

from auditapp.probe.errors import ProbeError
from auditapp.probe.models import Purpose
from transcripts.projects.models import Project

IS_OFF = (
    "The gender-cue probe is off in this study. An owner of the study can allow it, on the page Gender-cue probe, by writing what "
    "it is for."
)


class ProbeIsOff(ProbeError):
    """No owner has written the probe's purpose."""

    def __init__(self) -> None:
        super().__init__(IS_OFF)


def find_purpose(project: Project) -> Purpose | None:
    """What the study runs the probe for; ``None`` while it is off."""
    return Purpose.objects.filter(project=project).order_by("-number").first()


def require_purpose(project: Project) -> Purpose:
    """The purpose. Raises ``ProbeIsOff``."""
    purpose = find_purpose(project)
    if purpose is None:
        raise ProbeIsOff
    return purpose
