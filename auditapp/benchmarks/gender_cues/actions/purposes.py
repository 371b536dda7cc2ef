"""Allowing the probe in a study, and withdrawing that."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from auditapp.batches.actions import cancel_batch
from auditapp.batches.models import OPEN_STATES
from auditapp.benchmarks.gender_cues.models import NO_PURPOSE, Purpose
from auditapp.benchmarks.gender_cues.queries.purposes import require_purpose
from auditapp.benchmarks.gender_cues.queries.trials import KIND
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_NOTE, check_reason, check_text

NO_REASON = "Say in a few words why the purpose is withdrawn."


def allow_probe(*, project: Project, text: str, by: User, based_on: int | None = None) -> Purpose:
    """Store what the study runs the probe for. That turns the probe on; another text is the next number.

    ``by`` owns the study: nobody else may allow it. ``based_on`` is the latest number that she saw, 0 for none. Raises
    ``Refused``, of which ``WrittenMeanwhile`` and ``NothingChanged``.
    """
    _require_owner(project, by, "allow the probe")
    text = check_text(text, field="text", max_length=MAX_NOTE, needed=NO_PURPOSE)
    return Purpose(project=project, text=text).write(by=by, based_on=based_on)


@transaction.atomic
def withdraw_purpose(*, project: Project, number: int, reason: str, by: User) -> Purpose:
    """Withdraw the purpose that holds, which turns the probe off. Its open batches are cancelled: calls in flight finish and are
    stored. Reviews and figures stay and can be read.

    ``number`` is that of the purpose as ``by`` saw it; ``by`` owns the study. Raises ``Refused`` where another one holds by
    now, or none.
    """
    _require_owner(project, by, "withdraw the purpose of the probe")
    reason = check_reason(reason, needed=NO_REASON)
    # No number is given out meanwhile.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
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
