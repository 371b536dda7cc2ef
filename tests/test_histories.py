"""What is written again with a reason: every history numbers, refuses and records alike."""

from __future__ import annotations

import json
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.histories import HISTORIES, History
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture(params=HISTORIES)
def history(request: pytest.FixtureRequest) -> History:
    return HISTORIES[request.param]


def test_each_number_leaves_one_event_which_says_what_was_approved(
    history: History, project: Project, lead: User, owner: User, snapshot: SnapshotAssertion
) -> None:
    history.write(project, lead, 1, based_on=0, reason="First.")
    history.write(project, owner, 2, based_on=1, reason="Second.")
    rows = [row.pk for row in history.model._default_manager.order_by("pk")]
    events = AuditEvent.objects.filter(action__regex="written|saved|made|theme").order_by("pk")
    assert len(rows) == len(events) == 2
    assert "\n".join(describe(event) for event in events) == snapshot


def describe(event: AuditEvent) -> str:
    """The event without the numbers of rows, which differ from run to run."""
    target = re.sub(r":\d+$", "", event.target)
    details = {name: value for name, value in event.details.items() if name not in {"interview", "a", "b"}}
    left_out = sorted(event.details.keys() - details.keys())
    said = json.dumps(details, sort_keys=True, ensure_ascii=False)
    return f"{event.stream.partition(':')[0]} {event.actor_name} {event.action} {target} {said} {left_out}"
