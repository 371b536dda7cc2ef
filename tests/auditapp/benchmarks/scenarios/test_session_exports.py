"""The exports of scripts and of interviews held by them, and the count of questions by kind."""

import pytest
from django.urls import reverse

from auditapp.benchmarks.scenarios.actions.scripts import branch_session
from auditapp.benchmarks.scenarios.actions.storing import close_session, discard_session
from auditapp.benchmarks.scenarios.exports import find_held
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.queries.sessions import count_kinds
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import PAPER, SHORT, hear, open_talk, say, write_guide
from tests.transcripts.exchange.test_negotiation_exports import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_grants")]


@pytest.fixture
def session(study, lead):
    session = open_talk(write_guide(study), lead)
    hear(session, "One.")
    say(session, lead, "No.", "Two", kind="challenge", intent="unwarranted")
    return session


def close(session, by):
    close_session(session=session, inclusion="included", reason="x", by=by)


def test_scripts_hold_every_number_with_all_that_is_to_be_said(study):
    write_guide(study, consents={"coding": True}, consent_basis="Terms.")
    write_guide(study, max_questions=5, reason="Shorter.")
    first, second = rows("scripts", study)
    assert (first["script"], second["script"], second["max_questions"]) == ("gender/1", "gender/2", 5)
    assert first["openings"] == [{"id": "paper", "text": PAPER}, {"id": "short", "text": SHORT}]
    assert second["questions"][1] == {
        "kind": "challenge",
        "intent": "unwarranted",
        "text": "That is wrong, is it not?",
    }


def test_sessions_hold_every_question_of_those_that_have_ended(study, session, lead):
    branch = branch_session(session=session, after=1, by=lead)
    say(branch, lead, "Else?", "Else.")
    assert rows("sessions", study) == [], "what goes on is nobody's but that of who holds it"
    close(session, lead)
    discard_session(session=branch, reason="x", by=lead)
    told = rows("sessions", study)
    assert [(each["session"], each["question"], each["kind"], each["intent"], each["state"]) for each in told] == [
        (session.pk, 1, "open", "", "stored"),
        (session.pk, 2, "challenge", "unwarranted", "stored"),
        (branch.pk, 2, "expand", "", "discarded"),
    ]
    assert (told[2]["branch_of"], told[2]["after"], told[0]["served_model"]) == (session.pk, 1, "model-a-1")
    assert find_held(study) == {Session.objects.get(pk=session.pk).interview_id}


def test_coders_get_neither(study, session, lead, coder, client_of):
    close(session, lead)
    for what in ("scripts", "sessions"):
        answer = client_of(coder).post(reverse("exchange:download", args=[study.slug, what, "csv"]))
        assert answer.status_code in {403, 404}


def test_questions_are_counted_by_kind_for_each_model(study, session, lead, client_of):
    other = open_talk(session.script, lead, make_variant("model b"))
    hear(other, "One.")
    say(other, lead, "Surely not?", "No.", kind="leading")
    for each in (session, other):
        close(each, lead)
    counts = [(each.model, each.interviews, each.questions, each.leading_percent) for each in count_kinds(study)]
    assert counts == [("model a", 1, 2, 0), ("model b", 1, 2, 50)]
    page = client_of(lead).get(reverse("scenarios:sessions", args=[study.slug])).content.decode()
    assert "50 % of 2" in page
