"""Interviews that are held by programs: opened, asked in, branched and closed by the rules of their pages."""

from uuid import uuid4

import pytest

from auditapp.batches.models import Cell
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.queries.sessions import read_talk
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import PAPER, hear, open_recorded, write_guide
from transcripts.accounts.models import Scope
from transcripts.blinding.actions import unblind_interview
from transcripts.corpus.models import Interview

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_grants")]


@pytest.fixture
def script(study):
    return write_guide(study)


@pytest.fixture
def program(program_of, lead):
    return program_of(lead)


@pytest.fixture
def path(study):
    return f"studies/{study.slug}/sessions/"


def key():
    return str(uuid4())


def open_one(program, path, **more):
    return program.post(path, {"script": "gender", "opening": "paper", "idempotency_key": key(), **more})


def record(program, path, session, **more):
    given = {"kind": "open", "text": "Why?", "answer": "Because.", "idempotency_key": key(), **more}
    return program.post(f"{path}{session}/questions/", given)


@pytest.mark.usefixtures("script")
class TestOpening:
    def test_a_model_is_sent_the_opening_once_for_a_key(self, program, path):
        make_variant("model b")
        given = {"model": "model b", "cap": 2, "name": "By program", "idempotency_key": key()}
        first = open_one(program, path, **given)
        again = open_one(program, path, **given)
        assert (first.status, again.status) == (201, 200), first.body
        assert again.body == first.body
        assert (first.body["name"], first.body["model"], first.body["state"]) == ("By program", "model b", "open")
        session = Session.objects.get()
        assert (session.opened_by_name, session.arm.batch.cap_nano) == ("lead", 2_000_000_000)
        hear(session, "Gladly.")
        [told] = program.get(f"{path}{session.pk}/questions/").body["results"]
        assert (told["text"], told["answer"]) == (PAPER, "Gladly.")

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"script": "other"}, "script"),
            ({"script": "gender/99999999999999999999"}, "script"),
            ({"opening": "other"}, "opening"),
            ({"opening": ""}, "opening"),
            ({"model": "none such"}, "model"),
            ({"model": ""}, "model"),
            ({"model": "", "model_as_shown": "Chat 4"}, "surface"),
            ({"name": "a\x00b"}, "name"),
            ({"seed": "7"}, "seed"),
            ({"idempotency_key": "x"}, "idempotency_key"),
        ],
    )
    def test_what_is_wrong_is_named_by_its_field_and_nothing_is_opened(self, program, path, wrong, field):
        make_variant("model b")
        refused = open_one(program, path, **{"model": "model b", **wrong})
        assert (refused.status, list(refused.error["fields"])) == (422, [field]), refused.body
        assert not Session.objects.exists()
        assert not Cell.objects.exists()

    def test_a_cap_that_the_opening_could_exceed_is_refused(self, program, path):
        make_variant("model b")
        refused = open_one(program, path, model="model b", cap=0.000001)
        assert (refused.status, "could cost up to" in refused.error["message"]) == (409, True)
        assert not Cell.objects.exists()

    def test_a_key_that_somebody_else_sent_shows_nothing_of_hers(self, program_of, program, path, owner):
        given = {"model_as_shown": "Chat 4", "surface": "chat.example", "idempotency_key": key()}
        assert open_one(program, path, **given).status == 201
        assert open_one(program_of(owner), path, **given).status == 409

    def test_it_takes_a_token_that_may_launch(self, program_of, lead, path):
        scopes = [scope for scope in Scope.values if scope != Scope.LAUNCH]
        refused = open_one(program_of(lead, scopes=scopes), path, model_as_shown="Chat 4", surface="chat.example")
        assert (refused.status, refused.error["code"]) == (403, "scope_missing")


class TestHolding:
    @pytest.fixture
    def session(self, script, lead):
        return open_recorded(script, lead)

    def test_a_question_is_asked_once_for_a_key_and_says_what_it_raises(self, program, path, script):
        make_variant("model b")
        number = open_one(program, path, model="model b").body["id"]
        session = Session.objects.get(pk=number)
        hear(session, "Schemas shape it.")
        given = {"kind": "expand", "text": "And intersectionality?", "seen": 1, "idempotency_key": key()}
        first = program.post(f"{path}{number}/questions/", given)
        again = program.post(f"{path}{number}/questions/", given)
        assert (first.status, again.status, again.body) == (201, 200, first.body), first.body
        assert (first.body["number"], first.body["state"]) == (2, "waiting")
        [raised] = first.body["raises"]
        assert (raised["name"], raised["words"]) == ("Intersectionality", "intersectionality")
        assert Cell.objects.filter(arm=session.arm).count() == 2
        early = program.post(f"{path}{number}/questions/", {**given, "seen": 2, "idempotency_key": key()})
        late = program.post(f"{path}{number}/questions/", {**given, "idempotency_key": key()})
        assert (early.status, late.status) == (409, 409)
        assert "has not answered question 2 yet" in early.error["message"]
        assert "was asked in the meantime" in late.error["message"]
        pasted = program.post(f"{path}{number}/questions/", {**given, "answer": "x", "idempotency_key": key()})
        assert (pasted.status, list(pasted.error["fields"])) == (422, ["answer"])

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"kind": "trick"}, "kind"),
            ({"kind": "challenge"}, "intent"),
            ({"kind": "leading", "intent": "probe"}, "intent"),
            ({"text": " "}, "text"),
            ({"text": "x" * 1_000_001}, "text"),
            ({"answer": ""}, "answer"),
            ({"seen": -1}, "seen"),
        ],
    )
    def test_what_is_no_question_is_refused_by_its_field(self, program, path, session, wrong, field):
        refused = record(program, path, session.pk, **wrong)
        assert (refused.status, list(refused.error["fields"])) == (422, [field]), refused.body
        assert not session.questions.exists()

    def test_one_is_recorded_branched_and_closed(self, program, path, session):
        assert record(program, path, session.pk, reasoning="Let me think.").body["state"] == "answered"
        given = {"after": 1, "idempotency_key": key()}
        branches = [program.post(f"{path}{session.pk}/branches/", given) for _ in range(2)]
        assert [each.status for each in branches] == [201, 200]
        branch = branches[0].body
        assert (branch["branch_of"], branch["after"], branches[1].body) == (session.pk, 1, branch)
        nothing = program.post(f"{path}{session.pk}/branches/", {"after": 7, "idempotency_key": key()})
        assert (nothing.status, "Question 7 has no answer" in nothing.error["message"]) == (409, True)
        assert record(program, path, branch["id"], text="Otherwise?").body["number"] == 2
        words = {"inclusion": "included", "reason": "Complete."}
        early = program.post(f"{path}{branch['id']}/close/", words)
        assert (early.status, "Close that one first" in early.error["message"]) == (409, True)
        closed = [program.post(f"{path}{session.pk}/close/", words) for _ in range(2)]
        assert [each.status for each in closed] == [200, 200]
        assert closed[0].body == closed[1].body
        assert closed[0].body["state"] == "stored"
        interview = Interview.objects.get(pk=closed[0].body["interview"])
        assert [turn.text for turn in interview.turns.order_by("position")] == ["Why?", "Let me think.", "Because."]
        assert program.post(f"{path}{session.pk}/close/", {**words, "reason": "Other."}).status == 409
        assert record(program, path, session.pk).status == 409
        assert program.post(f"{path}{branch['id']}/close/", words).status == 200

    def test_closing_says_why(self, program, path, session):
        record(program, path, session.pk)
        refused = program.post(f"{path}{session.pk}/close/", {"inclusion": "included", "reason": " "})
        assert (refused.status, list(refused.error["fields"])) == (422, ["reason"])
        assert not Interview.objects.filter(external_id=f"session-{session.pk}").exists()

    def test_who_may_code_it_and_did_not_hold_it_can_do_nothing_in_it(self, program, program_of, path, session, owner):
        record(program, path, session.pk)
        other = program_of(owner)
        assert record(other, path, session.pk).status == 404
        assert other.post(f"{path}{session.pk}/close/", {"inclusion": "included", "reason": "x"}).status == 404
        assert other.post(f"{path}{session.pk}/branches/", {"after": 1, "idempotency_key": key()}).status == 404
        closed = program.post(f"{path}{session.pk}/close/", {"inclusion": "included", "reason": "x"})
        interview = Interview.objects.get(pk=closed.body["interview"])
        unblind_interview(study=session.study, interview=interview, by=owner, where="x")
        assert other.get(f"{path}{session.pk}/questions/").status == 200
        assert len(read_talk(session)) == 1
