"""What is kept of calibration being looked at: why coefficients of a reflexive family were shown."""

from __future__ import annotations

from django.db import transaction

from auditapp.preannotation.models import Annotator
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project
from transcripts.projects.queries import find_stance
from transcripts.refusals import Refused

MAX_REASON = 500


@transaction.atomic
def record_calibration(*, project: Project, annotator: Annotator | None, family: str, reason: str, by: User) -> None:
    """Keep why figures are shown for a family that is read reflexively: of one annotator, or the rates of those chosen.

    Raises ``Refused``.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise Refused("Say why figures are computed although this family is coded reflexively.")
    if len(reason) > MAX_REASON:
        raise Refused(f"The reason has {len(reason):,} characters, and at most {MAX_REASON:,} fit.")
    trail.record(
        "preannotation.calibration.computed",
        target=annotator if annotator is not None else f"family:{family}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"family": family, "stance": find_stance(project, family), "reason": reason},
    )
