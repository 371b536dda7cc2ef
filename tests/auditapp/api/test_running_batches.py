"""A script that has a batch made: reviewed, launched, run by the worker's function, steered, and its answers collected."""

import json
from decimal import Decimal
from uuid import uuid4

import pytest
from django.core.management import call_command

from auditapp.annotators.models import Annotator, ControlSentence, TurnArm
from auditapp.api.batches import ReadAnswers
from auditapp.batches.models import Batch, Cell, Result
from auditapp.batches.routes import live_run
from auditapp.benchmarks.sob.models import TermsNotice
from auditapp.llm.actions import add_model
from auditapp.llm.grants import set_grant
from tests.auditapp.annotators.cast import OFF_SITE, add_interviews, add_reader, allow
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.actions import unblind_interviews
from transcripts.codebook.actions import start_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("spool")]

BATCHES = "studies/culture/batches/"
PAID = {**OFF_SITE, "max_tokens": 100, "price_in": Decimal(1), "price_out": Decimal(2)}


@pytest.fixture
def model(db):
    return add_model(label="judge", provider="fake", by=trail.SYSTEM)


@pytest.fixture
def program(study, lead, program_of):
    return program_of(lead)


@pytest.fixture
def sob(dataset, model):
    """The body of a launch of two texts and two tasks."""
    tasks = ["acceptability", "non_acceptability"]
    key = str(uuid4())
    return {"dataset": "texts", "models": ["judge"], "tasks": tasks, "pilot": 0, "idempotency_key": key}


@pytest.fixture
def reading(interviews):
    """The body of a launch of a pre-annotation."""
    return {"annotator": "reader", "families": ["themes"], "pilot": 0, "idempotency_key": str(uuid4())}


@pytest.fixture
def interviews(study):
    add_reader()
    return add_interviews(study, "one", "two")


def grant(study, model, *, day="9", person="9"):
    """The study may use the model's account."""
    limits = {"study_usd": Decimal(9), "study_day_usd": Decimal(day), "person_day_usd": Decimal(person)}
    set_grant(study=study, account=model.account, by=trail.SYSTEM, **limits)


def work(batch_id):
    """What a worker does for each queue of the batch."""
    for queue_id in Batch.objects.get(pk=batch_id).queues.values_list("pk", flat=True):
        live_run.run_queue(queue_id)


def collect(program, batch_id, **query):
    found = program.get(f"{BATCHES}{batch_id}/answers/", **query)
    assert found.status == 200, found.body
    assert found.headers["Content-Type"] == "application/x-ndjson"
    return list(found.body)


def count_rows():
    return [model.objects.count() for model in (Batch, Cell, Annotator, TurnArm, ControlSentence, AuditEvent)]


class TestSob:
    def test_a_script_launches_a_batch_has_it_run_and_collects_its_answers_by_cursor(self, program, sob):
        launched = program.post(f"{BATCHES}sob/", sob)
        assert launched.status == 201
        batch_id = launched.body["id"]
        assert (launched.body["cells"], launched.body["launched_by"]) == (4, "lead")
        assert collect(program, batch_id) == []
        work(batch_id)
        first = collect(program, batch_id, limit="3")
        rest = collect(program, batch_id, after=str(first[-1]["id"]))
        assert [row["id"] for row in (*first, *rest)] == [1, 2, 3, 4]
        stored = dict(Result.objects.values_list("cell", "answer"))
        assert {row["cell"]: row["answer"] for row in (*first, *rest)} == stored
        assert {(row["model"], row["task"], row["end"]) for row in (*first, *rest)} == {
            ("judge", task, "answered") for task in sob["tasks"]
        }
        assert program.get(f"{BATCHES}{batch_id}/").body["state"] == "done"

    def test_a_line_has_the_fields_that_the_schema_declares(self, program, sob):
        batch_id = program.post(f"{BATCHES}sob/", sob).body["id"]
        work(batch_id)
        for row in collect(program, batch_id):
            assert set(row) == set(ReadAnswers.Output().fields)

    def test_the_same_request_sent_again_launches_nothing_more(self, program, sob):
        first, again = program.post(f"{BATCHES}sob/", sob), program.post(f"{BATCHES}sob/", sob)
        assert (first.status, again.status) == (201, 200)
        assert first.body["id"] == again.body["id"]
        assert Batch.objects.count() == 1

    def test_a_key_that_launched_something_else_is_refused(self, program, sob):
        launched = program.post(f"{BATCHES}sob/", sob).body["id"]
        refused = program.post(f"{BATCHES}sob/", {**sob, "repeats": 2})
        assert (refused.status, refused.error["code"]) == (409, "conflict")
        assert f"launched batch {launched}, with other settings" in refused.error["message"]
        assert Batch.objects.count() == 1

    def test_a_launch_without_a_key_is_refused(self, program, sob):
        del sob["idempotency_key"]
        refused = program.post(f"{BATCHES}sob/", sob)
        assert (refused.status, list(refused.error["fields"])) == (422, ["idempotency_key"])

    def test_it_sends_what_the_command_sends(self, program, study, sob):
        options = {
            "limit": 1,
            "repeats": 2,
            "name": "Twice",
            "concurrency": 5,
            "lost_answers": "hold",
            "uses_cache": True,
        }
        by_api = Batch.objects.get(
            pk=program.post(f"{BATCHES}sob/", {**sob, **options, "include_base": True}).body["id"]
        )
        words = ["--limit", "1", "--repeats", "2", "--name", "Twice", "--concurrency", "5", "--lost-answers", "hold"]
        tasks = [word for task in sob["tasks"] for word in ("--task", task)]
        call_command("sob", "launch", "--dataset", "texts", "--model", "judge", *tasks, *words, "--cache", "--base")
        by_command = Batch.objects.order_by("-pk")[0]
        same = ("title", "kind", "concurrency", "lost_answers", "uses_cache", "route", "pilot_cells", "cap_nano")
        assert [getattr(by_api, name) for name in same] == [getattr(by_command, name) for name in same]
        cells = [
            list(each.cells.order_by("pk").values_list("input_id", "repeat", "arm__prompt_hash"))
            for each in (by_api, by_command)
        ]
        assert cells[0] == cells[1]

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"dataset": "nothing"}, "dataset"),
            ({"models": ["nothing"]}, "models"),
            ({"models": []}, "models"),
            ({"tasks": ["nothing"]}, "tasks"),
            ({"limit": 0}, "limit"),
            ({"cap": "5"}, "cap"),
            ({"cap": -1}, "cap"),
            ({"pilot": -1}, "pilot"),
            ({"uses_cache": "yes"}, "uses_cache"),
            ({"name": "a\u0007b"}, "name"),
            ({"route": "pigeon"}, "route"),
            ({"nothing": 1}, "nothing"),
        ],
    )
    def test_a_wrong_field_is_named_and_nothing_is_launched(self, program, sob, change, field):
        for address in (f"{BATCHES}sob/", f"{BATCHES}sob/estimate/"):
            refused = program.post(address, sob | change)
            assert (refused.status, list(refused.error["fields"])) == (422, [field])
        assert not Batch.objects.exists()

    def test_terms_are_confirmed_once_before_texts_go_to_somebody(self, program, study, sob):
        paid = add_model(label="paid", by=trail.SYSTEM, **PAID)
        set_grant(
            study=study,
            account=paid.account,
            study_usd=Decimal(9),
            study_day_usd=Decimal(9),
            person_day_usd=Decimal(9),
            by=trail.SYSTEM,
        )
        body = {**sob, "models": ["paid"], "cap": 1}
        assert any("not to refuse" in each for each in program.post(f"{BATCHES}sob/estimate/", body).body["warnings"])
        refused = program.post(f"{BATCHES}sob/", body)
        assert (refused.status, list(refused.error["fields"])) == (422, ["confirms_terms"])
        assert program.post(f"{BATCHES}sob/", {**body, "confirms_terms": True}).status == 201
        assert TermsNotice.objects.get().made_by_name == "lead"
        assert program.post(f"{BATCHES}sob/", {**body, "idempotency_key": str(uuid4())}).status == 201

    def test_what_is_not_granted_is_not_launched(self, program, sob):
        add_model(label="paid", by=trail.SYSTEM, **PAID)
        body = {**sob, "models": ["paid"], "cap": 1, "confirms_terms": True}
        for address in (f"{BATCHES}sob/", f"{BATCHES}sob/estimate/"):
            refused = program.post(address, body)
            assert (refused.status, refused.error["code"]) == (409, "conflict")
            assert "grant" in refused.error["message"]
        assert not Batch.objects.exists()


class TestEstimate:
    def test_it_tells_calls_tokens_and_money_and_stores_nothing(self, program, study, sob):
        paid = add_model(label="paid", by=trail.SYSTEM, **PAID)
        set_grant(
            study=study,
            account=paid.account,
            study_usd=Decimal(9),
            study_day_usd=Decimal(5),
            person_day_usd=Decimal(3),
            by=trail.SYSTEM,
        )
        del sob["idempotency_key"]
        before = count_rows()
        found = program.post(f"{BATCHES}sob/estimate/", {**sob, "models": ["judge", "paid"], "pilot": 1, "cap": 0.001})
        assert found.status == 200
        assert count_rows() == before
        told = found.body
        assert (told["calls"], told["pilot_calls"], told["inputs"], told["interviews"]) == (8, 4, 2, None)
        assert [(arm["model"], arm["calls"]) for arm in told["arms"]] == [("judge", 4 // 2)] * 2 + [("paid", 2)] * 2
        paid_arms = [arm for arm in told["arms"] if arm["model"] == "paid"]
        assert all(arm["tokens_out"] == 200 for arm in paid_arms)
        # At the prices of a dollar and of two for a million tokens.
        for arm in paid_arms:
            assert arm["highest"] == pytest.approx((arm["tokens_in"] + 2 * arm["tokens_out"]) / 1e6, abs=1e-8)
        assert (told["fake"], told["cap"]) == (True, 0.001)
        assert [(row["account"], row["left_for_you_today"]) for row in told["grants"]] == [(paid.account.name, 3.0)]
        assert any("cap is lower than the maximum cost" in sentence for sentence in told["warnings"])
        assert not any("&" in sentence or "  " in sentence for sentence in told["warnings"])

    def test_it_counts_interviews_without_consent(self, program, study, interviews, reading):
        away = add_model(label="away", by=trail.SYSTEM, **PAID)
        set_grant(
            study=study,
            account=away.account,
            study_usd=Decimal(9),
            study_day_usd=Decimal(9),
            person_day_usd=Decimal(9),
            by=trail.SYSTEM,
        )
        allow(study, interviews[0])
        before = count_rows()
        found = program.post(f"{BATCHES}preannotation/estimate/", {**reading, "annotator": "away", "cap": 1})
        assert found.status == 200, found.body
        assert (found.body["interviews"], found.body["left_out"], found.body["inputs"]) == (1, 1, 2)
        assert count_rows() == before

    def test_it_tells_the_calls_that_the_launch_then_makes(self, program, interviews, reading):
        told = program.post(f"{BATCHES}preannotation/estimate/", {**reading, "pilot": None}).body
        launched = Batch.objects.get(pk=program.post(f"{BATCHES}preannotation/", {**reading, "pilot": None}).body["id"])
        assert (told["calls"], told["pilot_calls"]) == (launched.cells.count(), launched.pilot_cells)
        assert told["pilot_calls"]
        assert told["title"] == launched.title


class TestPreannotation:
    def test_a_script_has_interviews_annotated_and_whoever_does_not_code_collects_the_answers(
        self, program, program_of, reader, interviews, reading
    ):
        launched = program.post(f"{BATCHES}preannotation/", {**reading, "interviews": [interviews[0].pk]})
        assert launched.status == 201, launched.body
        # The lead may code there: nothing that could tell what the machine says.
        assert (launched.body["closed"], launched.body["cells"]) == (True, None)
        batch = Batch.objects.get(pk=launched.body["id"])
        work(batch.pk)
        turns = set(interviews[0].turns.values_list("pk", flat=True))
        found = collect(program_of(reader), batch.pk)
        assert len(found) == batch.cells.count()
        assert {row["input"] for row in found} <= turns
        assert all(row["outcome"] and json.loads(row["answer"]) is not None for row in found)

    def test_the_same_request_sent_again_makes_neither_batch_nor_annotator(self, program, interviews, reading):
        ends = [program.post(f"{BATCHES}preannotation/", reading) for _ in range(2)]
        assert [end.status for end in ends] == [201, 200]
        assert ends[0].body["id"] == ends[1].body["id"]
        assert (Batch.objects.count(), Annotator.objects.count()) == (1, 1)

    def test_latent_meaning_needs_a_reason(self, program, interviews, reading):
        refused = program.post(f"{BATCHES}preannotation/", {**reading, "reads_latent": True})
        assert (refused.status, list(refused.error["fields"])) == (422, ["latent_reason"])
        latent = {**reading, "reads_latent": True, "latent_reason": "To compare."}
        assert program.post(f"{BATCHES}preannotation/", latent).status == 201
        assert Annotator.objects.get().reads_latent

    def test_an_interview_of_another_study_is_not_annotated(self, program, owner, interviews, reading):
        [foreign] = add_interviews(start_study(slug="other", name="Other", by=owner), "foreign")
        refused = program.post(f"{BATCHES}preannotation/", {**reading, "interviews": [foreign.pk]})
        assert (refused.status, list(refused.error["fields"])) == (422, ["interviews"])
        assert not Batch.objects.exists()

    def test_a_model_that_does_not_exist_is_refused(self, program, interviews, reading):
        refused = program.post(f"{BATCHES}preannotation/", {**reading, "annotator": "nobody"})
        assert refused.status == 409
        assert "no annotator and no model" in refused.error["message"]
        assert not Batch.objects.exists()

    def test_its_answers_are_closed_to_whoever_may_code_there_until_she_unblinds(
        self, study, program, program_of, coder, lead, interviews, reading
    ):
        batch_id = program.post(f"{BATCHES}preannotation/", reading).body["id"]
        work(batch_id)
        TurnArm.objects.update(arm=TurnArm.Arm.SHOWN)
        address = f"{BATCHES}{batch_id}/answers/"
        assert program_of(coder).get(address).status == 403
        closed = program.get(address)
        assert (closed.status, closed.error["code"]) == (403, "permission_denied")
        assert "Unblind them first" in closed.error["message"]
        unblind_interviews(study=study, interviews=interviews[:1], by=lead, where="calls")
        part = program.get(address)
        assert part.headers["X-Answers-Hidden"] == "true"
        turns = set(interviews[0].turns.values_list("pk", flat=True))
        assert part.body
        assert {row["input"] for row in part.body} <= turns
        unblind_interviews(study=study, interviews=interviews[1:], by=lead, where="calls")
        whole = program.get(address)
        assert "X-Answers-Hidden" not in whole.headers
        assert [row["id"] for row in whole.body] == list(range(1, Batch.objects.get().cells.count() + 1))


class TestControl:
    @pytest.fixture
    def batch(self, program, sob):
        return Batch.objects.get(pk=program.post(f"{BATCHES}sob/", {**sob, "pilot": 1}).body["id"])

    @pytest.fixture
    def act(self, program, batch):
        def send(control, **fields):
            return program.post(f"{BATCHES}{batch.pk}/{control}/", fields)

        return send

    def test_it_is_paused_and_goes_on(self, batch, act):
        paused = act("pause")
        assert (paused.status, paused.body["state"], paused.body["control"]) == (200, "paused", "pause")
        assert act("pause").body["state"] == "paused"
        assert act("resume").body["state"] == "pilot"
        actions = AuditEvent.objects.filter(action__startswith="batch.").order_by("pk").values_list("action", flat=True)
        assert list(actions) == ["batch.launched", "batch.paused", "batch.resumed"]

    def test_it_is_approved_after_its_pilot_by_its_estimate(self, program, batch, act):
        early = act("approve")
        assert (early.status, early.error["code"]) == (409, "conflict")
        work(batch.pk)
        assert program.get(f"{BATCHES}{batch.pk}/").body["state"] == "waiting"
        assert act("resume").status == 409
        told = program.get(f"{BATCHES}{batch.pk}/estimate/").body
        assert told["sentence"]
        assert (told["cap"], told["warning"]) == (None, "")
        approved = act("approve")
        assert (approved.status, approved.body["state"]) == (200, "running")
        assert act("approve").status == 200
        work(batch.pk)
        assert [row["id"] for row in collect(program, batch.pk)] == [1, 2, 3, 4]

    def test_it_is_cancelled_for_good(self, batch, act):
        assert act("cancel").body["state"] == "cancelled"
        assert act("cancel").status == 200
        refused = act("resume")
        assert (refused.status, refused.error["code"]) == (409, "conflict")
        assert "has ended" in refused.error["message"]

    def test_it_is_named(self, batch, act):
        assert act("name", name="  The\tsecond ").body["title"] == "The second"
        assert list(act("name", name="").error["fields"]) == ["name"]
        assert act("cancel").status == 200
        assert act("name", name="Over").body["title"] == "Over"

    def test_only_who_may_run_batches_steers_them(self, batch, coder, program_of):
        for name in ("pause", "resume", "cancel", "approve", "name"):
            assert program_of(coder).post(f"{BATCHES}{batch.pk}/{name}/", {}).status == 403
        assert program_of(coder).get(f"{BATCHES}{batch.pk}/estimate/").status == 403
        batch.refresh_from_db()
        assert batch.state == "pilot"


def test_texts_stand_in_bodies_only_and_every_line_is_one_whatever_they_hold(program, sob):
    batch_id = program.post(f"{BATCHES}sob/", sob).body["id"]
    work(batch_id)
    words = "One\u2028two\u0085three\r\nfour “five” 🙂"
    Result.objects.update(answer=words)
    response = program.client.get(f"/api/v1/{BATCHES}{batch_id}/answers/")
    content = response.getvalue().decode("ascii")
    assert [json.loads(line)["answer"] for line in content.splitlines()] == [words] * 4


def test_head_tells_that_there_are_answers_and_sends_none(program, sob):
    batch_id = program.post(f"{BATCHES}sob/", sob).body["id"]
    work(batch_id)
    response = program.client.head(f"/api/v1/{BATCHES}{batch_id}/answers/")
    assert (response.status_code, response.getvalue()) == (200, b"")


@pytest.mark.parametrize("query", [{"after": "-1"}, {"after": "x"}, {"limit": "0"}, {"offset": "1"}])
def test_wrong_parameters_are_named(program, sob, query):
    batch_id = program.post(f"{BATCHES}sob/", sob).body["id"]
    refused = program.get(f"{BATCHES}{batch_id}/answers/", **query)
    assert (refused.status, list(refused.error["fields"])) == (400, list(query))
