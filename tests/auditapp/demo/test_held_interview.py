"""The interview of the demo that is still being recorded."""

import pytest

from auditapp.benchmarks.scenarios.actions.storing import close_session
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.queries.sessions import read_talk
from auditapp.demo.actions import hold_interview


@pytest.mark.django_db
def test_the_interview_that_is_held_can_be_gone_on_with(study, owner):
    hold_interview(study, owner)
    branch, session = Session.objects.order_by("-pk")
    assert (branch.branch_of, branch.after_position, session.state, branch.state) == (session, 2, "open", "open")
    assert [each.number for each in read_talk(branch)] == [1, 2, 3]
    assert {each["id"] for each in session.script.openings} == {"paper", "short"}
    for each in (session, branch):
        close_session(session=each, inclusion="included", reason="x", by=owner)
