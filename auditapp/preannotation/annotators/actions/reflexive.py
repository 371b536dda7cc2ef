"""What is kept of calibration being looked at: why coefficients of a reflexive family were shown."""

from __future__ import annotations

from django.db import transaction

from auditapp.preannotation.models import Annotator
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project
from transcripts.projects.queries import find_stance
from transcripts.ui.typed_text import check_reason


@transaction.atomic
def record_calibration(*, project: Project, annotator: Annotator | None, family: str, reason: str, by: User) -> None:
    """Keep why figures are shown for a family that is read reflexively: of one annotator, or the rates of those chosen.

    Raises ``Refused``.
    """
    needed = "Say why figures are computed although this family is coded reflexively."
    reason = check_reason(reason, needed=needed, one_line=True)
    trail.record(
        "preannotation.calibration.computed",
        target=annotator if annotator is not None else f"family:{family}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"family": family, "stance": find_stance(project, family), "reason": reason},
    )
