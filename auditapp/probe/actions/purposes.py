"""Allowing the probe in a study."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from auditapp.probe.errors import ProbeError
from auditapp.probe.models import Purpose
from auditapp.probe.queries.purposes import find_purpose
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.access import find_role
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission

MAX_PURPOSE = 5_000


@transaction.atomic
def allow_probe(*, project: Project, text: str, by: User) -> Purpose:
    """Store what the study runs the probe for. That turns the probe on; another text is the next number.

    ``by`` owns the study: nobody else may allow it. Raises ``ProbeError``.
    """
    role = find_role(by, project)
    if role is None or Permission.MANAGE_MEMBERS not in role.permissions:
        raise ProbeError("Only an owner of the study can allow the probe.")
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise ProbeError("Say what the probe is for, and who will read its figures.")
    if len(text) > MAX_PURPOSE or "\x00" in text:
        raise ProbeError(f"The purpose may have {MAX_PURPOSE:,} characters, and no NUL.")
    # Numbers are given out one at a time.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    before = find_purpose(project)
    if before is not None and before.text == text:
        raise ProbeError("This is the purpose that stands there already.")
    purpose = Purpose.objects.create(
        project=project,
        number=before.number + 1 if before else 1,
        text=text,
        made_by=by,
        made_by_name=by.get_username(),
        made_at=timezone.now(),
    )
    trail.record(
        "probe.allowed",
        target=purpose,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"number": purpose.number},
    )
    return purpose
