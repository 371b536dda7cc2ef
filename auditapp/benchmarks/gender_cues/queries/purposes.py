"""Whether a study may use the probe, and whether its figures may be read."""

from __future__ import annotations

from django.utils import timezone

from auditapp.benchmarks.gender_cues.models import Purpose
from transcripts.refusals import Refused
from transcripts.studies.models import Project

HOW_TO_ALLOW = "An owner of the study can allow it, on the page Gender-cue probe, by writing what it is for."
IS_OFF = f"The gender-cue probe is off in this study. {HOW_TO_ALLOW}"


class ProbeIsOff(Refused):
    """No owner has written the probe's purpose, or one has withdrawn it."""

    def __init__(self, withdrawn: Purpose | None = None) -> None:
        said = f"{describe_withdrawal(withdrawn)} {HOW_TO_ALLOW}" if withdrawn else IS_OFF
        super().__init__(said)


def find_latest(project: Project) -> Purpose | None:
    """The latest number of the study's purpose, withdrawn or not; ``None`` where there never was one."""
    return Purpose.objects.filter(project=project).order_by("-number").first()


def require_purpose(project: Project, *, locks: bool = False) -> Purpose:
    """The purpose that holds: what loads, asks or stores needs it. With ``locks`` nobody withdraws it before the transaction ends.
    Raises ``ProbeIsOff``."""
    purposes = Purpose.objects.filter(project=project)
    latest = (purposes.select_for_update(of=("self",)) if locks else purposes).order_by("-number").first()
    if latest is None or latest.is_withdrawn:
        raise ProbeIsOff(latest)
    return latest


def require_figures(project: Project) -> Purpose:
    """The latest purpose, also where it was withdrawn: what was measured before can still be read. Raises ``ProbeIsOff``."""
    latest = find_latest(project)
    if latest is None:
        raise ProbeIsOff
    return latest


def describe_withdrawal(purpose: Purpose) -> str:
    """Who withdrew the purpose, when and why, as sentences for those who read earlier figures; "" while it holds."""
    if purpose.withdrawn_at is None:
        return ""
    reason = purpose.withdrawal_reason
    return (
        f"The purpose of the probe was withdrawn on {timezone.localdate(purpose.withdrawn_at)} by {purpose.withdrawn_by_name}: "
        f"{reason}{'' if reason.endswith(('.', '!', '?')) else '.'} The probe is off; what was measured before can be read."
    )
