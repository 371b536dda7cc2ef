"""Allowing the probe in a study, and withdrawing that."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from auditapp.batches.actions import cancel_batch
from auditapp.batches.models import OPEN_STATES
from auditapp.probe.models import NO_PURPOSE, Purpose
from auditapp.probe.queries.purposes import find_latest, require_purpose
from auditapp.probe.queries.trials import KIND
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.access import find_role
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.replacing import check_seen
from transcripts.ui.typed_text import MAX_NOTE, check_reason, check_text

NO_REASON = "Say in a few words why the purpose is withdrawn."


def read_purpose(purpose: Purpose | None) -> dict[str, object]:
    """What the next purpose replaces."""
    return {"text": purpose.text if purpose else ""}


@transaction.atomic
def allow_probe(*, project: Project, text: str, by: User, seen: Mapping[str, object] | None = None) -> Purpose:
    """Store what the study runs the probe for. That turns the probe on; another text is the next number.

    ``by`` owns the study: nobody else may allow it. ``seen`` is what ``read_purpose`` gave of the purpose that she saw. Raises
    ``Refused``, and ``ChangedMeanwhile`` where there is another one by now.
    """
    _require_owner(project, by, "allow the probe")
    text = check_text(text, field="text", max_length=MAX_NOTE, needed=NO_PURPOSE)
    _lock(project)
    before = find_latest(project)
    check_seen(seen, read_purpose(before))
    if before is not None and before.text == text and not before.is_withdrawn:
        raise Refused("This is already the purpose of the probe. Change its text, or leave it as it is.")
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


@transaction.atomic
def withdraw_purpose(*, project: Project, number: int, reason: str, by: User) -> Purpose:
    """Withdraw the purpose that holds, which turns the probe off. Its open batches are cancelled: calls in flight finish and are
    stored. Reviews and figures stay and can be read.

    ``number`` is that of the purpose as ``by`` saw it; ``by`` owns the study. Raises ``Refused`` where another one holds by
    now, or none.
    """
    _require_owner(project, by, "withdraw the purpose of the probe")
    reason = check_reason(reason, needed=NO_REASON)
    _lock(project)
    purpose = require_purpose(project)
    if purpose.number != number:
        raise Refused(
            f"{purpose.made_by_name} wrote another purpose, number {purpose.number}, after you opened this page. Read it first."
        )
    purpose.withdrawn_at, purpose.withdrawal_reason = timezone.now(), reason
    purpose.withdrawn_by, purpose.withdrawn_by_name = by, by.get_username()
    purpose.save(update_fields=["withdrawn_at", "withdrawal_reason", "withdrawn_by", "withdrawn_by_name"])
    cancelled = list(project.batches.filter(kind=KIND, state__in=OPEN_STATES).order_by("pk"))
    for batch in cancelled:
        cancel_batch(batch=batch, by=by)
    trail.record(
        "probe.withdrawn",
        target=purpose,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"number": purpose.number, "reason": reason, "cancelled": [batch.pk for batch in cancelled]},
    )
    return purpose


def _require_owner(project: Project, by: User, what: str) -> None:
    role = find_role(by, project)
    if role is None or Permission.MANAGE_MEMBERS not in role.permissions:
        raise Refused(f"Only an owner of the study can {what}.")


def _lock(project: Project) -> None:
    # Numbers are given out one at a time.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
