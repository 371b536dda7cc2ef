"""The interview of the demo that is still being recorded."""

from __future__ import annotations

import pytest

from auditapp.benchmarks.scenarios.actions.storing import close_play
from auditapp.benchmarks.scenarios.models import Play
from auditapp.benchmarks.scenarios.queries.talks import read_talk
from auditapp.demo.actions import hold_interview
from transcripts.accounts.models import User
from transcripts.studies.models import Project


@pytest.mark.django_db
def test_the_interview_that_is_held_can_be_gone_on_with(project: Project, owner: User) -> None:
    hold_interview(project, owner)
    branch, play = Play.objects.order_by("-pk")
    assert (branch.branch_of, branch.after_position, play.state, branch.state) == (play, 2, "open", "open")
    assert [each.number for each in read_talk(branch)] == [1, 2, 3]
    assert {each["id"] for each in play.script.openings} == {"paper", "short"}
    for each in (play, branch):
        close_play(play=each, inclusion="included", reason="x", by=owner)
