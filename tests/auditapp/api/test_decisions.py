"""A program decides on sentences and reads decisions."""

import datetime
from uuid import uuid4

import pytest
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.actions import decide_sentence
from transcripts.coding.models import Decision

pytestmark = pytest.mark.django_db
PATH = "studies/culture/decisions/"


@pytest.fixture
def program(coder, program_of):
    return program_of(coder)


def test_a_decision_is_stored_once_and_can_be_taken_back(program, sentence, coder):
    body = {"sentence": sentence.pk, "idempotency_key": str(uuid4())}
    answer = program.post(PATH, body)
    assert answer.status == 201
    decision = Decision.objects.get()
    assert (decision.sentence, decision.coder, decision.blinding, decision.none_applies) == (
        sentence,
        coder,
        "blind",
        True,
    )
    assert answer.body["id"] == decision.pk
    assert program.post(PATH, body).status == 200
    taken_back = program.post(f"{PATH}{decision.pk}/reopen/")
    assert taken_back.status == 200
    assert taken_back.body["withdrawn_at"]
    assert program.get(PATH).body["count"] == 0
    assert program.get(PATH, withdrawn="any").body["count"] == 1
    actions = AuditEvent.objects.filter(actor_name=coder.username, action__startswith="coding.")
    assert list(actions.order_by("pk").values_list("action", flat=True)) == ["coding.decided", "coding.reopened"]


def test_a_coder_sees_no_decision_of_a_colleague_and_cannot_take_it_back(program, study, sentence, second_coder):
    theirs = decide_sentence(study=study, sentence=sentence, by=second_coder, idempotency_key=uuid4())
    assert program.get(PATH).body["count"] == 0
    assert program.get(PATH, coder=second_coder.username).body["count"] == 0
    assert program.post(f"{PATH}{theirs.pk}/reopen/").status == 404
    assert Decision.objects.active().exists()


def test_since_returns_what_was_added_or_withdrawn_later(program, sentence):
    body = {"sentence": sentence.pk, "idempotency_key": str(uuid4())}
    pk = program.post(PATH, body).body["id"]
    old = timezone.now() - datetime.timedelta(days=2)
    Decision.objects.update(created_at=old)
    yesterday = (timezone.now() - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert program.get(PATH, since=yesterday).body["count"] == 0
    program.post(f"{PATH}{pk}/reopen/")
    assert program.get(PATH, since=yesterday, withdrawn="any").body["count"] == 1


@pytest.mark.parametrize("since", ["yesterday", "2026-11-24T10:00:00", "2026-11-24T10:00:00 00:00"])
def test_a_time_without_its_zone_is_refused(program, since):
    answer = program.get(PATH, since=since)
    assert answer.status == 400
    assert "with its time zone" in answer.error["fields"]["since"][0]


@pytest.mark.parametrize("since", ["2025-08-25T22:12:26+17:06", "0025-03-25T00:01:32.626-19:54"])
def test_a_time_far_from_utc_is_understood_on_every_database(program, since):
    assert program.get(PATH, since=since).body["count"] == 0


def test_a_time_before_all_calendars_is_refused_with_a_sentence(program):
    assert "with its time zone" in program.get(PATH, since="0001-01-01T00:00:00+12:00").error["fields"]["since"][0]
