"""A program writes memos and reads them."""

from uuid import uuid4

import pytest

from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Memo

pytestmark = pytest.mark.django_db
PATH = "studies/culture/memos/"


@pytest.fixture
def program(coder, program_of):
    return program_of(coder)


def new(text="A hedge.", **fields):
    return {"text": text, "idempotency_key": str(uuid4()), **fields}


def test_a_memo_on_a_sentence_is_stored_once_revised_and_withdrawn(program, sentence, coder):
    body = new(sentence=sentence.pk, kind="interpretive")
    first = program.post(PATH, body)
    assert (first.status, first.body["subject"], first.body["sentence"]) == (201, "sentence", sentence.pk)
    assert program.post(PATH, body).status == 200
    second = program.post(f"{PATH}{first.body['id']}/revise/", new("A hedge, twice."))
    assert (second.status, second.body["text"], second.body["kind"]) == (200, "A hedge, twice.", "interpretive")
    assert second.body["revision"] == 2
    assert program.post(f"{PATH}{second.body['id']}/withdraw/").body["withdrawn_at"]
    assert program.get(PATH).body["count"] == 0
    told = program.get(PATH, withdrawn="any").body["results"]
    assert [(row["text"], row["superseded_by"]) for row in told] == [
        ("A hedge.", second.body["id"]),
        ("A hedge, twice.", None),
    ]
    actions = AuditEvent.objects.filter(actor_name=coder.username, action__contains="memo").order_by("pk")
    assert [each.action for each in actions] == ["coding.memo.written", "coding.memo.written", "memo.withdrawn"]


def test_memos_lie_on_interviews_codes_and_the_study(program, sentence, code):
    for place, subject in (
        ({"interview": sentence.turn.interview_id}, "interview"),
        ({"code": code.identifier}, "code"),
        ({}, "study"),
    ):
        answer = program.post(PATH, new(**place))
        assert (answer.status, answer.body["subject"]) == (201, subject)
    assert program.get(PATH, subject="code").body["results"][0]["key"] == code.identifier


def test_a_second_memo_on_a_sentence_is_refused_with_the_number_of_the_first(program, sentence):
    first = program.post(PATH, new(sentence=sentence.pk))
    answer = program.post(PATH, new("Another.", sentence=sentence.pk))
    assert answer.status == 409
    assert str(first.body["id"]) in answer.error["message"]
    old = program.post(f"{PATH}{first.body['id']}/revise/", new("Newer.")).body["id"]
    assert old != first.body["id"]
    assert program.post(f"{PATH}{first.body['id']}/revise/", new("From the old one.")).status == 409


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ({"sentence": 2**40}, "sentence"),
        ({"interview": 2**40}, "interview"),
        ({"code": "no.such"}, "code"),
        ({"theme": 99}, "theme"),
        ({"interview": 1, "code": "x"}, "code"),
        ({"text": "  "}, "text"),
        ({"kind": "poem"}, "kind"),
    ],
)
def test_what_is_not_there_is_named(program, sentence, place, field):
    answer = program.post(PATH, {**new(), **place})
    assert answer.status == 422
    assert list(answer.error["fields"]) == [field]
    assert not Memo.objects.exists()


def test_a_coder_sees_no_memo_of_a_colleague_and_cannot_change_it(program, study, sentence, second_coder):
    place = Place(Memo.Subject.SENTENCE, "", sentence.turn.interview, sentence)
    theirs = write_memo(
        study=study, place=place, text="Secret.", kind="reading", by=second_coder, idempotency_key=uuid4()
    )
    assert program.get(PATH, withdrawn="any").body["count"] == 0
    assert program.post(f"{PATH}{theirs.pk}/revise/", new()).status == 404
    assert program.post(f"{PATH}{theirs.pk}/withdraw/").status == 404
