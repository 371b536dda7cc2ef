"""Many codings or decisions in one request."""

import json
from uuid import uuid4

import pytest
from django.db import transaction

from auditapp.api import bulk
from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import verify_streams
from transcripts.coding.actions import add_coding
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused

pytestmark = pytest.mark.django_db

CODINGS = "studies/culture/codings/bulk/"
DECISIONS = "studies/culture/decisions/bulk/"
LINES = "application/x-ndjson"


@pytest.fixture
def program(coder, program_of):
    return program_of(coder)


@pytest.fixture
def sentences(study, owner):
    text = " ".join(f"It depends on {number}." for number in range(120))
    line = json.dumps({"id": "long", "turns": [{"role": "model", "text": text}]})
    import_file(study=study, name="long.jsonl", data=line.encode(), by=owner)
    return list(Sentence.objects.filter(turn__interview__external_id="long").order_by("position"))


def write(*lines):
    return b"\n".join(json.dumps(line).encode() for line in lines)


def send(program, path, data):
    answer = program.send(path, data, content_type=LINES)
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == LINES
    return list(answer.body)


def of(sentence, **fields):
    return {"sentence": sentence.pk, "idempotency_key": str(uuid4()), **fields}


def test_each_line_is_a_coding_of_its_own_with_its_event(program, sentences, code, coder):
    lines = [of(sentence, code=code.identifier, note=f"n {sentence.position}") for sentence in sentences]
    results = send(program, CODINGS, write(*lines))
    assert [(result["line"], result["status"], result["error"]) for result in results] == [
        (number, 201, None) for number in range(1, 121)
    ]
    stored = Coding.objects.filter(coder=coder, blinding="blind")
    assert {result["id"] for result in results} == set(stored.values_list("pk", flat=True))
    assert set(stored.values_list("sentence", "note")) == {(each.pk, f"n {each.position}") for each in sentences}
    assert AuditEvent.objects.filter(action="coding.added", actor_name=coder.username).count() == 120
    assert {broken for _, _, broken in verify_streams()} == {None}


def test_sent_again_nothing_is_stored_twice(program, sentences, code):
    first = of(sentences[0], code=code.identifier)
    same = write(first, of(sentences[1], code=code.identifier), first)
    before = send(program, CODINGS, same)
    assert [result["status"] for result in before] == [201, 201, 200]
    again = send(program, CODINGS, same)
    assert [result["status"] for result in again] == [200, 200, 200]
    assert [result["id"] for result in again] == [result["id"] for result in before]
    assert Coding.objects.count() == 2


def test_a_refused_line_is_named_and_stops_no_other(program, sentences, code):
    key = str(uuid4())
    data = b"\n".join(
        [
            write(of(sentences[0], code=code.identifier)),
            b"{broken",
            b"",
            write(of(sentences[1], code="no.such")),
            write({"sentence": 2**40, "code": code.identifier, "idempotency_key": key}),
            write(of(sentences[2], code=code.identifier, color="red")),
            b'["not an object"]',
            write(of(sentences[3], code=code.identifier, idempotency_key=key)),
            write(of(sentences[4], code=code.identifier, idempotency_key=key)),
        ]
    )
    results = send(program, CODINGS, data)
    assert [(result["line"], result["status"]) for result in results] == [
        (1, 201),
        (2, 400),
        (4, 422),
        (5, 422),
        (6, 422),
        (7, 422),
        (8, 201),
        (9, 409),
    ]
    assert {broken for _, _, broken in verify_streams()} == {None}
    assert "Line 2: found invalid JSON at character 2" in results[1]["error"]["message"]
    assert list(results[2]["error"]["fields"]) == ["code"]
    assert list(results[4]["error"]["fields"]) == ["color"]
    assert Coding.objects.count() == 2


def test_decisions_come_in_bulk_and_say_which_sentences_have_no_code(program, sentences, code):
    send(program, CODINGS, write(of(sentences[0], code=code.identifier)))
    results = send(program, DECISIONS, write(*(of(sentence) for sentence in sentences)))
    assert {result["status"] for result in results} == {201}
    assert Decision.objects.filter(none_applies=True).count() == 119
    assert Decision.objects.get(sentence=sentences[0]).none_applies is False


def test_who_may_not_code_can_send_no_lines(reader, program_of, sentences):
    answer = program_of(reader).send(DECISIONS, write(of(sentences[0])), content_type=LINES)
    assert answer.status == 403
    assert not Decision.objects.exists()


def test_another_kind_of_body_is_refused_with_the_kind_that_is_taken(program):
    answer = program.send(CODINGS, b"{}")
    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert LINES in answer.error["message"]


def test_too_many_lines_are_refused_before_any_is_stored(program, sentences):
    answer = program.send(DECISIONS, b"\n".join([write(of(sentences[0]))] + [b"{}"] * 10_001), content_type=LINES)
    assert answer.status == 413
    assert "10,000 lines" in answer.error["message"]
    assert not Decision.objects.exists()


def test_the_event_of_an_act_that_is_undone_is_not_written(program, sentences, code, monkeypatch):
    def add_and_refuse(*, sentence, **given):
        with transaction.atomic():
            coding = add_coding(sentence=sentence, **given)
            if sentence == sentences[1]:
                raise Refused("Not this one.")
            return coding

    monkeypatch.setattr(bulk, "add_coding", add_and_refuse)
    results = send(program, CODINGS, write(*(of(sentence, code=code.identifier) for sentence in sentences[:3])))
    assert [result["status"] for result in results] == [201, 409, 201]
    stored = {f"coding.coding:{pk}" for pk in Coding.objects.values_list("pk", flat=True)}
    assert len(stored) == 2
    assert set(AuditEvent.objects.filter(action="coding.added").values_list("target", flat=True)) == stored
    assert {broken for _, _, broken in verify_streams()} == {None}


def test_a_line_with_a_code_for_the_other_side_is_refused_and_stops_no_other(program, study, sentences, code):
    from transcripts.codebook.models import CodeFamily

    CodeFamily.objects.filter(version__study=study, identifier="case_features").update(applies_to="interviewer")
    lines = [of(sentences[0], code="feature.task"), of(sentences[0], code=code.identifier)]
    first, second = send(program, CODINGS, write(*lines))
    assert (first["status"], second["status"]) == (409, 201)
    assert "Task is for the interviewer's turns, and this is the model's." in first["error"]["message"]
    assert Coding.objects.count() == 1
