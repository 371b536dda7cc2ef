import json
import re
from uuid import UUID, uuid4

import pytest
from django.urls import reverse

from tests.transcripts.corpus.cast import refuse
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.coding.models import Blinding, Coding, Decision, Reveal
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn

pytestmark = pytest.mark.django_db

PATH = "studies/culture/codings/"


@pytest.fixture
def program(coder, program_of):
    return program_of(coder)


@pytest.fixture
def body(sentence, code):
    """A coding as it is sent."""
    return {"sentence": sentence.pk, "code": code.identifier, "idempotency_key": str(uuid4())}


def withdraw(program, pk):
    return program.post(f"{PATH}{pk}/withdraw/")


def last_event():
    return AuditEvent.objects.filter(action__startswith="coding.").latest("pk")


def describe(event):
    """An event but for what differs between any two: its place, and the number, times and key of its row."""
    details = json.dumps(event.details, sort_keys=True)
    details = re.sub(r'"coding\.coding:\d+"|"[0-9-]{10}T[^"]*"|"[0-9a-f-]{36}"', '"…"', details)
    return {"actor": event.actor_id, "action": event.action, "stream": event.stream, "details": details}


def test_an_added_coding_is_stored_and_told(program, body, coder, sentence, code):
    answer = program.post(PATH, {**body, "level": "latent", "note": "  Reads as\n a hedge. "})
    assert answer.status == 201
    coding = Coding.objects.get()
    assert (coding.sentence, coding.code, coding.coder) == (sentence, code, coder)
    assert (coding.level, coding.blinding, coding.note) == ("latent", "blind", "Reads as a hedge.")
    told = answer.body
    assert told.pop("created_at").endswith("Z")
    assert told == {
        "id": coding.pk,
        "interview": sentence.turn.interview_id,
        "sentence": sentence.pk,
        "code": code.identifier,
        "codebook_version": 1,
        "coder": coder.username,
        "level": "latent",
        "enactment": "",
        "blinding": "blind",
        "note": "Reads as a hedge.",
        "quote_start": None,
        "quote_end": None,
        "range": None,
        "grounding": "",
        "prompting": "",
        "attributes": {},
        "reason": "",
        "idempotency_key": body["idempotency_key"],
        "withdrawn_at": None,
        "withdrawal_reason": "",
        "superseded_by": None,
    }


def test_a_second_coding_of_a_code_applied_once_per_answer_is_a_conflict(program, body, sentence):
    others = Sentence.objects.filter(turn=sentence.turn_id).exclude(pk=sentence.pk)
    first = {**body, "code": "repertoire.user_correction"}
    assert program.post(PATH, first).status == 201
    answer = program.post(PATH, {**first, "sentence": others[0].pk, "idempotency_key": str(uuid4())})
    assert (answer.status, answer.error["code"]) == (409, "conflict")
    assert f"you have applied it to sentence {sentence.label} of this answer" in answer.error["message"]
    assert program.post(PATH, first).status == 200
    assert Coding.objects.count() == 1


def test_a_move_without_enactment_and_an_unknown_answer_are_refused_with_what_may_be_chosen(program, body):
    refused = program.post(PATH, {**body, "code": "move.revise"})
    assert refused.status == 422
    assert "Revise needs its enactment. Choose enacted, demonstrated or described." in str(refused.error)
    wrong = {**body, "code": "feature.stakeholders", "attributes": {"who": "nobody"}}
    refused = program.post(PATH, wrong)
    assert refused.status == 422
    assert "'nobody' is not one of the answers. Choose the person in the conversation" in str(refused.error)
    assert not Coding.objects.exists()
    assert program.post(PATH, {**body, "code": "move.revise", "enactment": "described"}).status == 201
    assert len(program.get(PATH, enactment="described").body["results"]) == 1
    assert program.get(PATH, enactment="enacted").body["results"] == []
    assert program.get(PATH, enactment="done").status == 400


def test_adding_writes_the_same_event_as_the_desk(program, body, coder, sentence, code, client_of):
    coding = Coding.objects.get(pk=program.post(PATH, body).body["id"])
    by_api = describe(last_event())
    assert withdraw(program, coding.pk).status == 200
    desk = client_of(coder)
    place = ["culture", sentence.turn.interview_id]
    fields = {"sentence": sentence.pk, "code": code.pk, "idempotency_key": str(uuid4())}
    assert desk.post(reverse("desk:add", args=place), fields).status_code == 303
    assert describe(last_event()) == by_api


def test_withdrawing_writes_the_same_event_as_the_desk(program, body, coder, sentence, put_code, client_of):
    assert withdraw(program, put_code(coder).pk).status == 200
    by_api = describe(last_event())
    fields = {"coding": str(put_code(coder).idempotency_key), "sentence": sentence.pk}
    place = ["culture", sentence.turn.interview_id]
    assert client_of(coder).post(reverse("desk:withdraw", args=place), fields).status_code == 303
    assert describe(last_event()) == by_api
    assert by_api["action"] == "coding.withdrawn"


def test_the_same_request_again_stores_nothing_more(program, body):
    first, events = program.post(PATH, body), AuditEvent.objects.count()
    again = program.post(PATH, body)
    assert (first.status, again.status) == (201, 200)
    assert again.body == first.body
    assert Coding.objects.count() == 1
    assert AuditEvent.objects.count() == events


def test_a_code_that_stands_is_not_stored_again(program, body):
    first = program.post(PATH, body)
    again = program.post(PATH, {**body, "idempotency_key": str(uuid4())})
    assert (again.status, again.body["id"]) == (200, first.body["id"])
    assert Coding.objects.count() == 1


def test_another_level_takes_the_place_of_the_old_coding(program, body):
    first = program.post(PATH, body)
    changed = program.post(PATH, {**body, "level": "latent", "note": "A hedge.", "idempotency_key": str(uuid4())})
    assert changed.status == 201
    former = program.get(PATH, withdrawn="true").body["results"]
    assert [(row["id"], row["superseded_by"]) for row in former] == [(first.body["id"], changed.body["id"])]


def test_a_code_of_turns_goes_on_the_first_sentence_of_its_turn(program, body, study, sentence):
    later = Sentence.objects.filter(turn=sentence.turn).order_by("position").last()
    of_turns = Code.objects.filter(version__study=study, family__unit="turn").first()
    assert later is not None
    assert of_turns is not None
    assert later != sentence
    answer = program.post(PATH, {**body, "sentence": later.pk, "code": of_turns.identifier})
    assert (answer.status, answer.body["sentence"]) == (201, sentence.pk)


def test_a_coding_after_suggestions_is_told_apart(program, body, coder):
    Reveal.objects.create(sentence_id=body["sentence"], coder=coder, revealed_at="2026-01-01T00:00:00Z")
    assert program.post(PATH, body).body["error"]["fields"].keys() == {"reason"}
    told = program.post(PATH, {**body, "reason": "The machine saw it"}).body
    assert (told["blinding"], told["reason"]) == (Blinding.ASSISTED, "The machine saw it")


def test_all_that_a_coding_says_is_stored_and_told(program, body, sentence):
    said = {
        "quote_start": sentence.start,
        "quote_end": sentence.start + 1,
        "range": str(uuid4()),
        "grounding": "grounded",
        "prompting": "unclear",
    }
    told = program.post(PATH, {**body, **said}).body
    assert {name: told[name] for name in said} == said


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"quote_start": 0}, "quote_end"),
        ({"quote_start": 0, "quote_end": 10_000}, "quote_start"),
        ({"attributes": {"why": "because"}}, "attributes"),
        ({"attributes": {"why": 1}}, "attributes"),
        ({"grounding": "floating"}, "grounding"),
        ({"range": "x"}, "range"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(program, body, said, field):
    answer = program.post(PATH, {**body, **said})
    assert answer.status in {400, 422}
    assert field in answer.body["error"]["fields"]
    assert not Coding.objects.exists()


def test_a_code_takes_back_that_none_applies(program, body, coder, study, sentence):
    decide_sentence(study=study, sentence=sentence, by=coder, idempotency_key=uuid4())
    assert program.post(PATH, body).status == 201
    assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()


def test_a_idempotency_key_used_for_another_sentence_is_refused(program, body, sentence):
    program.post(PATH, body)
    answer = program.post(PATH, {**body, "sentence": sentence.pk + 1})
    assert (answer.status, answer.error["code"]) == (409, "conflict")
    assert "earlier request" in answer.error["message"]
    assert Coding.objects.count() == 1


def test_a_latent_coding_without_a_note_is_refused_in_the_words_of_the_action(program, body):
    answer = program.post(PATH, {**body, "level": "latent"})
    assert answer.status == 422
    assert answer.error["fields"] == {"note": [answer.error["message"]]}
    assert "one line" in answer.error["message"]
    assert not Coding.objects.exists()


def test_what_a_tool_gave_back_cannot_be_coded(program, body, sentence):
    Turn.objects.filter(pk=sentence.turn_id).update(channel="tool_result")
    answer = program.post(PATH, body)
    assert answer.status == 409
    assert "tool result" in answer.error["message"]


def test_a_sentence_of_another_study_is_as_unknown_as_none(program, body, owner, make_other):
    foreign = make_other()
    answers = [program.post(PATH, {**body, "sentence": pk}) for pk in (foreign.pk, 999_999)]
    for answer in answers:
        assert (answer.status, list(answer.error["fields"])) == (422, ["sentence"])
    texts = [answer.error["fields"]["sentence"][0] for answer in answers]
    assert texts[0].replace(str(foreign.pk), "N") == texts[1].replace("999999", "N")
    assert not Coding.objects.exists()


@pytest.fixture
def make_other(owner):
    """A sentence of a study the coder does not belong to."""

    def make():
        from transcripts.codebook.actions import start_study

        other = start_study(slug="other", name="Other", by=owner)
        line = b'{"id": "x", "turns": [{"role": "model", "text": "Elsewhere."}]}'
        import_file(study=other, name="other.jsonl", data=line, by=owner)
        return Sentence.objects.get(turn__interview__study=other)

    return make


def test_a_withdrawn_coding_stays_as_a_row(program, coder, put_code):
    coding = put_code(coder)
    answer = withdraw(program, coding.pk)
    assert answer.status == 200
    assert answer.body["withdrawn_at"] is not None
    assert program.get(PATH).body["results"] == []
    assert [row["id"] for row in program.get(PATH, withdrawn="true").body["results"]] == [coding.pk]


def test_withdrawing_again_changes_nothing(program, coder, put_code):
    coding = put_code(coder)
    first, events = withdraw(program, coding.pk), AuditEvent.objects.count()
    assert withdraw(program, coding.pk).body == first.body
    assert AuditEvent.objects.count() == events


def test_nobody_takes_off_the_coding_of_another(lead, coder, second_coder, put_code, program_of):
    coding = put_code(coder)
    for person in (second_coder, lead):
        assert withdraw(program_of(person), coding.pk).status == 404
    coding.refresh_from_db()
    assert coding.withdrawn_at is None


def test_a_foreign_coding_and_none_look_the_same(program, second_coder, put_code):
    coding = put_code(second_coder)
    foreign, missing = withdraw(program, coding.pk), withdraw(program, 999_999)
    assert (foreign.status, missing.status) == (404, 404)
    assert foreign.error["message"].replace(str(coding.pk), "N") == missing.error["message"].replace("999999", "N")


def test_codings_are_found_by_interview_coder_code_and_whether_they_stand(
    study, interview, sentence, code, reader, coder, second_coder, put_code, program_of
):
    first, second = put_code(coder), put_code(second_coder)
    other_code = Code.objects.filter(version=code.version, family=code.family).exclude(pk=code.pk)[0]
    third = add_coding(study=study, sentence=sentence, code=other_code, by=coder, idempotency_key=UUID(int=1))
    program = program_of(reader)
    assert withdraw(program_of(second_coder), second.pk).status == 200

    def found(**query):
        return {row["id"] for row in program.get(PATH, **query).body["results"]}

    assert found() == {first.pk, third.pk}
    assert found(withdrawn="any") == {first.pk, second.pk, third.pk}
    assert found(withdrawn="true") == {second.pk}
    assert found(coder="coder") == {first.pk, third.pk}
    assert found(code=code.identifier, withdrawn="any") == {first.pk, second.pk}
    assert found(interview=str(interview.pk)) == {first.pk, third.pk}
    assert found(interview=str(interview.pk + 1)) == set()
    assert found(coder="nobody", code="theme.nothing") == set()


def test_codings_are_found_by_their_answer_to_a_question_of_their_code(
    study, sentence, coder, second_coder, program_of
):
    code = Code.objects.get(version__study=study, identifier="theme.compassion")
    answers = [(coder, {"direction": "about self"}), (second_coder, {"direction": ""})]
    first, second = (
        add_coding(
            study=study,
            sentence=sentence,
            code=code,
            by=person,
            idempotency_key=uuid4(),
            values=CodingValues(attributes=given),
        )
        for person, given in answers
    )

    def found(person, answer):
        return {row["id"] for row in program_of(person).get(PATH, answer=answer, coder=person.username).body["results"]}

    assert found(coder, "theme.compassion:direction=about self") == {first.pk}
    assert found(coder, "theme.compassion:direction") == {first.pk}
    assert found(coder, "theme.compassion:direction=") == set()
    assert found(second_coder, "theme.compassion:direction") == set()
    assert found(second_coder, "theme.compassion:direction=") == {second.pk}
    assert found(second_coder, "theme.compassion:direction=about self") == set()
    refused = program_of(coder).get(PATH, answer="theme.compassion:where=here")
    assert refused.status == 400
    assert "theme.compassion:where" in str(refused.body)


def test_what_people_may_not_code_is_refused_with_the_reason(program, body, sentence, lead):
    refuse(lead, sentence.turn.interview)
    answer = program.post(PATH, body)
    assert answer.status == 409
    assert "does not allow coding by people" in answer.error["message"]
    decided = program.post("studies/culture/decisions/", {"sentence": sentence.pk, "idempotency_key": str(uuid4())})
    assert decided.status == 409
    assert not Coding.objects.exists()
    assert not Decision.objects.exists()
