"""The exports of scripts and of interviews held by them, and the count of questions by kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.benchmarks.scenarios.actions.plays import branch_play
from auditapp.benchmarks.scenarios.actions.storing import close_play, discard_play
from auditapp.benchmarks.scenarios.exports import find_held
from auditapp.benchmarks.scenarios.models import Play
from auditapp.benchmarks.scenarios.queries.talks import count_kinds
from tests.auditapp.batches.counting import make_variant
from tests.auditapp.benchmarks.scenarios.play_cast import PAPER, SHORT, hear, open_talk, say, write_guide
from tests.transcripts.exchange.test_negotiation_exports import rows
from transcripts.accounts.models import User
from transcripts.studies.models import Project

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_grants")]


@pytest.fixture
def play(project: Project, lead: User) -> Play:
    play = open_talk(write_guide(project), lead)
    hear(play, "One.")
    say(play, lead, "No.", "Two", kind="challenge", intent="unwarranted")
    return play


def close(play: Play, by: User) -> None:
    close_play(play=play, inclusion="included", reason="x", by=by)


def test_scripts_hold_every_number_with_all_that_is_to_be_said(project: Project) -> None:
    write_guide(project, consents={"coding": True}, consent_basis="Terms.")
    write_guide(project, max_questions=5, reason="Shorter.")
    first, second = rows("scripts", project)
    assert (first["script"], second["script"], second["max_questions"]) == ("gender/1", "gender/2", 5)
    assert first["openings"] == [{"id": "paper", "text": PAPER}, {"id": "short", "text": SHORT}]
    assert second["questions"][1] == {
        "kind": "challenge",
        "intent": "unwarranted",
        "text": "That is wrong, is it not?",
    }


def test_plays_hold_every_question_of_those_that_have_ended(project: Project, play: Play, lead: User) -> None:
    branch = branch_play(play=play, after=1, by=lead)
    say(branch, lead, "Else?", "Else.")
    assert rows("plays", project) == [], "what goes on is nobody's but that of who holds it"
    close(play, lead)
    discard_play(play=branch, reason="x", by=lead)
    told = rows("plays", project)
    assert [(each["play"], each["question"], each["kind"], each["intent"], each["state"]) for each in told] == [
        (play.pk, 1, "open", "", "stored"),
        (play.pk, 2, "challenge", "unwarranted", "stored"),
        (branch.pk, 2, "expand", "", "discarded"),
    ]
    assert (told[2]["branch_of"], told[2]["after"], told[0]["served_model"]) == (play.pk, 1, "model-a-1")
    assert find_held(project) == {Play.objects.get(pk=play.pk).interview_id}


def test_coders_get_neither(
    project: Project, play: Play, lead: User, coder: User, client_of: Callable[[User], Client]
) -> None:
    close(play, lead)
    for what in ("scripts", "plays"):
        answer = client_of(coder).post(reverse("exchange:download", args=[project.slug, what, "csv"]))
        assert answer.status_code in {403, 404}


def test_questions_are_counted_by_kind_for_each_model(
    project: Project, play: Play, lead: User, client_of: Callable[[User], Client]
) -> None:
    other = open_talk(play.script, lead, make_variant("model b"))
    hear(other, "One.")
    say(other, lead, "Surely not?", "No.", kind="leading")
    for each in (play, other):
        close(each, lead)
    counts = [(each.model, each.interviews, each.questions, each.leading_percent) for each in count_kinds(project)]
    assert counts == [("model a", 1, 2, 0), ("model b", 1, 2, 50)]
    page = client_of(lead).get(reverse("scenarios:plays", args=[project.slug])).content.decode()
    assert "50 % of 2" in page
