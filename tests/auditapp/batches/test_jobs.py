"""Jobs at a provider's batch service: never two for the same calls, every cell its answer, the cap held."""

import datetime
import json
from decimal import Decimal
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import F
from django.test import Client
from django.urls import reverse

from auditapp.batches import actions, kinds, launching
from auditapp.batches.ledger import batch_state, leases, results, statements
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Arm, Attempt, Batch, Cell, ProviderJob, Result, WorkQueue
from auditapp.batches.routes import job_ledger, jobs
from auditapp.llm.actions import add_model, set_capabilities
from auditapp.llm.providers import openai_compatible
from auditapp.llm.providers.base import JobState, JobStatus
from auditapp.llm.providers.openai_compatible import OpenAIJobs
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.queues import Shop
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

PROVIDERS = ["openai_compatible", "anthropic"]


class Echo(kinds.BatchKind):
    """A kind whose inputs are numbers."""

    name = "echo"

    def __init__(self):
        self.seen = []

    def write_prompts(self, arm, input_ids):
        return {number: f"text {number}" for number in input_ids}

    def store_answers(self, batch, answers):
        self.seen.extend(answers)
        return {each.cell_id: "said" if each.answer is not None else "silent" for each in answers}

    def reopen(self, cell_ids):
        return None


@pytest.fixture(autouse=True)
def echo(monkeypatch, tmp_path):
    kind = Echo()
    monkeypatch.setitem(kinds._kinds, "echo", kind)
    monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "spool")
    return kind


@pytest.fixture
def shop(fake_provider):
    shop = Shop(fake_provider)
    shop.order(reset=True)
    yield shop
    shop.order(reset=True)


@pytest.fixture(autouse=True)
def books(db):
    """Whatever a test does, the ledger's invariants hold at its end."""
    yield
    assert verify_batches() == []


@pytest.fixture
def launch(study, shop):
    """A batch over the provider's batch service; its queue."""

    def launch_now(provider="openai_compatible", *, inputs=5, after=None, **more):
        variant = add_model(
            label=f"model of {provider}",
            provider=provider,
            base_url=shop.provider.base_url,
            model="m",
            max_tokens=100,
            price_in=Decimal(1),
            price_out=Decimal(2),
            allow_private=True,
            by=trail.SYSTEM,
        )
        set_capabilities(variant=variant, offers_batches=True, by=trail.SYSTEM)
        batch = launching.launch_batch(
            study=study,
            kind="echo",
            title="Echo",
            arms=[launching.PlannedArm(variant, "task", "Say it.")],
            input_ids=list(range(1, inputs + 1)),
            options=launching.LaunchOptions(route="jobs", **more),
            by=trail.SYSTEM,
            after=after,
        )
        return batch.queues.get()

    return launch_now


def let_time_pass(**span):
    """Everything in the ledger happened so much earlier."""
    earlier = datetime.timedelta(**span)
    for name in ("submitted_at", "checked_at"):
        ProviderJob.objects.update(**{name: F(name) - earlier})
    Cell.objects.update(not_before=F("not_before") - earlier)


def look_after(queue, *, times=1):
    """Ring the queue as often as that, ten minutes apart."""
    for _ in range(times):
        let_time_pass(minutes=10)
        jobs.run_job_queue(queue.pk)


def count_states():
    states = list(Cell.objects.values_list("state", flat=True))
    return {state: states.count(state) for state in set(states)}


@pytest.mark.parametrize("provider", PROVIDERS)
class TestWay:
    def test_a_job_is_submitted_once_and_every_cell_gets_its_answer(self, launch, shop, provider, echo):
        shop.order(seconds=3600)
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        job = ProviderJob.objects.get()
        assert (job.state, job.calls, len(job.file_sha256)) == ("submitted", 5, 64)
        assert set(Attempt.objects.values_list("runner", "job", "end")) == {(f"job:{job.pk}", job.pk, "open")}
        assert count_states() == {"leased": 5}
        look_after(queue)
        assert ProviderJob.objects.get().state == "submitted"
        shop.order(seconds=0)
        assert shop.stats()["jobs"] == 1

    def test_its_answers_are_stored_like_those_of_live_calls(self, launch, shop, provider, echo):
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        batch = Batch.objects.get()
        assert (batch.state, batch.reserved_nano, batch.spent_nano) == ("done", 0, 5 * (100 + 2 * 20) * 1000)
        assert Result.objects.count() == 5
        attempt = Attempt.objects.all()[0]
        assert (attempt.end, attempt.served_model, attempt.tokens_in, attempt.tokens_out) == ("answered", "m", 100, 20)
        assert attempt.finish_reason == "stop"
        assert json.loads(attempt.raw)["model"] == "m"
        assert attempt.sent_at is not None
        assert sorted(each.input_id for each in echo.seen) == [1, 2, 3, 4, 5]
        assert {each.answer for each in echo.seen} == set(Result.objects.values_list("answer", flat=True))
        job = ProviderJob.objects.get()
        assert job.state == "collected"
        assert job.ended_at is not None
        assert shop.stats() | {"checks": 1} == shop.stats() | {"jobs": 1, "billed": 5, "billed_twice": 0, "checks": 1}
        assert WorkQueue.objects.get().runner == ""

    def test_conversations_go_one_question_at_a_time(self, launch, shop, provider):
        queue = launch(provider, inputs=6, after={2: 1, 3: 2, 5: 4, 6: 5})
        jobs.run_job_queue(queue.pk)
        assert count_states() == {"leased": 2, "blocked": 4}
        for depth in (2, 3):
            look_after(queue)
            assert ProviderJob.objects.count() == depth
        look_after(queue)
        assert set(ProviderJob.objects.values_list("state", "calls")) == {("collected", 2)}
        assert Batch.objects.get().state == "done"
        last = Attempt.objects.get(cell__input_id=6)
        first = Result.objects.get(cell__input_id=4)
        assert [each["content"] for each in last.history or []][:3] == ["Say it.", "text 4", first.answer]

    def test_nothing_more_is_begun_while_a_job_of_a_conversation_is_out(self, launch, shop, provider):
        shop.order(seconds=3600)
        queue = launch(provider, inputs=4, after={2: 1, 4: 3})
        jobs.run_job_queue(queue.pk)
        Cell.objects.filter(input_id=2).update(state="planned")
        assert not leases.has_cells_to_submit(WorkQueue.objects.select_related("batch").get(), read_now())
        Cell.objects.filter(input_id=2).update(state="blocked")
        shop.order(seconds=0)

    def test_what_the_service_did_not_come_to_is_asked_again_and_billed_once(self, launch, shop, provider):
        shop.order(expired=0.5, errored=0.3)
        queue = launch(provider, inputs=30)
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        ends = set(Attempt.objects.exclude(end="open").values_list("end", "error_class"))
        assert ends == {("answered", ""), ("refused", "expired"), ("refused", "server_error")}
        assert Batch.objects.get().state == "running"
        look_after(queue, times=3)
        assert Batch.objects.get().state == "done"
        assert Result.objects.count() == 30
        stats = shop.stats()
        assert (stats["jobs"], stats["billed"], stats["billed_twice"]) == (2, 30, 0)
        assert Batch.objects.get().spent_nano == 30 * 140_000

    def test_a_cut_creation_is_found_at_the_provider_before_there_is_another(self, launch, shop, provider):
        shop.order(seconds=3600, cut_creates=1)
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        job = ProviderJob.objects.get()
        assert job.submitted_at is not None
        assert job.provider_job_id == ""
        look_after(queue)
        shop.order(seconds=0)
        assert shop.stats()["jobs"] == 1
        assert count_states() == {"leased": 5}

    def test_a_job_whose_creation_was_cut_is_collected_in_the_end(self, launch, shop, provider):
        shop.order(cut_creates=1)
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert (shop.stats()["jobs"], shop.stats()["billed"]) == (1, 5)

    def test_a_creation_that_never_arrived_is_made_after_a_while(self, launch, shop, provider):
        shop.order(lose_creates=1)
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        let_time_pass(seconds=40)
        jobs.run_job_queue(queue.pk)
        assert shop.stats()["jobs"] == 0, "too early: it may yet show in the list"
        look_after(queue)
        assert shop.stats()["jobs"] == 1
        look_after(queue)
        assert Batch.objects.get().state == "done"

    def test_a_download_that_breaks_off_is_done_again_at_no_cost(self, launch, shop, provider):
        shop.order(cut_downloads=1)
        queue = launch(provider, inputs=40)
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert 0 < Result.objects.count() < 40
        assert ProviderJob.objects.get().state == "submitted"
        assert not Attempt.objects.filter(end="unknown").exists()
        look_after(queue)
        assert Result.objects.count() == 40
        assert (shop.stats()["jobs"], shop.stats()["billed"], shop.stats()["downloads"]) == (1, 40, 2)

    def test_cancelling_stops_the_job_and_keeps_what_it_had_finished(self, launch, shop, provider):
        shop.order(seconds=3600, done_before_cancel=0.4)
        queue = launch(provider, inputs=10)
        jobs.run_job_queue(queue.pk)
        actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        jobs.run_job_queue(queue.pk)
        assert shop.stats()["cancelled"] == 1
        look_after(queue)
        assert count_states() == {"done": 4, "cancelled": 6}
        batch = Batch.objects.get()
        assert (batch.state, batch.reserved_nano, batch.spent_nano) == ("cancelled", 0, 4 * 140_000)
        assert shop.stats()["billed"] == 4

    def test_an_unreachable_provider_is_no_failure(self, launch, shop, provider):
        queue = launch(provider)
        jobs.run_job_queue(queue.pk)
        shop.order(down=2)
        look_after(queue, times=2)
        job = ProviderJob.objects.get()
        assert (job.state, job.error) == ("submitted", "as ordered")
        assert Batch.objects.get().state == "running"
        look_after(queue)
        assert Batch.objects.get().state == "done"
        assert ProviderJob.objects.get().error == ""

    def test_a_refused_key_pauses_the_batch_and_loses_no_cell(self, launch, shop, provider):
        queue = launch(provider)
        shop.provider.order(key="another")
        jobs.run_job_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "status 401" in batch.state_reason
        assert "as ordered" not in batch.state_reason
        shop.provider.order(key="")
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["jobs"] == 1


class TestSize:
    def test_no_job_holds_more_calls_than_the_service_takes(self, launch, shop, monkeypatch):
        monkeypatch.setattr(OpenAIJobs, "max_calls", 4)
        queue = launch(inputs=10)
        jobs.run_job_queue(queue.pk)
        assert shop.stats()["calls"] == [4, 4, 2]
        look_after(queue)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["jobs_by_cell"] == 1

    def test_no_file_is_larger_than_the_service_takes(self, launch, shop, monkeypatch):
        monkeypatch.setattr(OpenAIJobs, "max_bytes", 1000)
        queue = launch(inputs=10)
        jobs.run_job_queue(queue.pk)
        calls = shop.stats()["calls"]
        assert sum(calls) == 10
        assert max(calls) < 10
        look_after(queue)
        assert Batch.objects.get().state == "done"
        assert (shop.stats()["billed"], shop.stats()["jobs_by_cell"]) == (10, 1)

    def test_a_second_job_of_an_account_is_told_from_the_first(self, launch, shop, monkeypatch):
        from auditapp.llm.providers.anthropic import AnthropicJobs

        monkeypatch.setattr(AnthropicJobs, "max_calls", 3)
        shop.order(cut_creates=2)
        queue = launch("anthropic", inputs=6)
        jobs.run_job_queue(queue.pk)
        look_after(queue, times=4)
        assert Batch.objects.get().state == "done"
        assert (shop.stats()["jobs"], shop.stats()["billed_twice"], shop.stats()["jobs_by_cell"]) == (2, 0, 1)
        ids = list(ProviderJob.objects.values_list("provider_job_id", flat=True))
        assert len(set(ids)) == 2


class TestMoney:
    def test_only_as_many_calls_are_submitted_as_fit_under_the_cap(self, launch, shop):
        queue = launch(inputs=20, cap_usd=Decimal("0.0012"))
        jobs.run_job_queue(queue.pk)
        first = shop.stats()["calls"][0]
        assert 0 < first < 20
        batch = Batch.objects.get()
        for _ in range(20):
            if batch.state == "running":
                look_after(queue)
                batch = Batch.objects.get()
                assert batch.cap_nano is not None
                assert batch.spent_nano + batch.reserved_nano <= batch.cap_nano
        assert batch.state == "paused"
        assert "cap" in batch.state_reason
        assert shop.stats()["billed"] == Result.objects.count() < 20
        assert shop.stats()["billed_twice"] == 0

    def test_a_job_costs_the_providers_share_of_the_price(self, launch, shop):
        queue = launch()
        Arm.objects.update(price_in=Decimal("0.5"), price_out=Decimal(1))
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert Batch.objects.get().spent_nano == 5 * 70_000


class TestControl:
    def test_a_paused_batch_submits_nothing_new_and_still_collects(self, launch, shop):
        shop.order(expired=0.5)
        queue = launch(inputs=10)
        jobs.run_job_queue(queue.pk)
        actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue, times=3)
        answered = Result.objects.count()
        assert 0 < answered < 10
        assert count_states() == {"done": answered, "planned": 10 - answered}
        assert shop.stats()["jobs"] == 1
        assert leases.find_due_queues() == []

    @pytest.mark.parametrize("place", ["job_written", "job_uploaded"])
    def test_a_pause_in_the_middle_of_submitting_still_counts(self, launch, shop, monkeypatch, place):
        queue = launch()

        def pause(reached):
            if reached == place:
                actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "crash_point", pause)
            jobs.run_job_queue(queue.pk)
        assert shop.stats()["jobs"] == 0
        actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["jobs"] == shop.stats()["files"] == 1

    def test_while_a_job_waits_to_be_sent_no_other_is_made(self, launch, shop, monkeypatch):
        monkeypatch.setattr(OpenAIJobs, "max_calls", 2)
        shop.order(down=1)
        queue = launch()
        for _ in range(3):
            jobs.run_job_queue(queue.pk)
        assert ProviderJob.objects.count() == 1
        assert leases.find_due_queues() == []
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["calls"] == [2, 2, 1]

    def test_a_job_that_was_not_sent_waits_while_the_batch_is_paused(self, launch, shop):
        shop.order(down=1)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        assert leases.find_due_queues() == []
        look_after(queue, times=2)
        assert shop.stats()["files"] == 0
        actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"

    def test_a_job_that_was_not_sent_is_withdrawn_when_the_batch_is_cancelled(self, launch, shop):
        shop.order(down=1)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        jobs.run_job_queue(queue.pk)
        assert count_states() == {"cancelled": 5}
        assert Batch.objects.get().reserved_nano == 0
        assert set(Attempt.objects.values_list("end", flat=True)) == {"unsent"}
        assert ProviderJob.objects.get().state == "failed"

    def test_a_pilot_goes_first_and_the_rest_waits_for_a_yes(self, launch, shop):
        queue = launch(inputs=10, pilot=3)
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert Batch.objects.get().state == "waiting"
        assert shop.stats()["calls"] == [3]
        actions.confirm_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["calls"] == [3, 7]

    def test_a_draining_batch_carries_on_what_was_begun_and_then_pauses(self, launch, shop):
        shop.order(expired=1.0)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        shop.order(expired=0.0)
        actions.drain_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue, times=3)
        assert Batch.objects.get().state == "done"
        assert shop.stats()["jobs"] == 2


class TestRefusal:
    def test_a_job_the_provider_does_not_take_pauses_the_batch_and_costs_nothing(self, launch, shop):
        shop.order(refuse_jobs="invalid_model")
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        batch = Batch.objects.get()
        assert (batch.state, batch.reserved_nano, batch.spent_nano) == ("paused", 0, 0)
        assert "refused job" in batch.state_reason
        assert ProviderJob.objects.get().error == "invalid_model: as ordered"
        assert count_states() == {"planned": 5}
        shop.order(refuse_jobs="")
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"

    def test_an_account_that_is_full_is_asked_again_later(self, launch, shop):
        shop.order(refuse_jobs="token_limit_exceeded")
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert Batch.objects.get().state == "running"
        assert leases.find_due_queues() == []
        shop.order(refuse_jobs="")
        look_after(queue, times=3)
        assert Batch.objects.get().state == "done"
        assert Cell.objects.filter(tries__gt=0).count() == 0

    def test_a_call_without_a_word_about_it_may_have_been_paid_and_is_asked_once_more(self, launch, shop):
        shop.order(leave_out=1)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert Attempt.objects.filter(end="unknown").count() == 1
        shop.order(leave_out=0)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"
        assert Result.objects.count() == 5

    def test_a_setting_the_model_cannot_take_pauses_the_batch_before_anything_is_sent(self, launch, shop):
        queue = launch()
        Arm.objects.get().variant.__class__.objects.update(parameters={"n": 3})
        jobs.run_job_queue(queue.pk)
        assert Batch.objects.get().state == "paused"
        assert count_states() == {"planned": 5}
        assert shop.stats()["files"] == 0

    def test_a_job_whose_messages_cannot_be_written_any_more_is_withdrawn_and_the_batch_pauses(
        self, launch, shop, echo, monkeypatch
    ):
        shop.order(down=1)
        queue = launch()
        jobs.run_job_queue(queue.pk)

        def fail(arm, input_ids):
            raise LookupError("gone")

        with monkeypatch.context() as patch:
            patch.setattr(echo, "write_prompts", fail)
            look_after(queue)
        batch = Batch.objects.get()
        assert (batch.state, batch.reserved_nano) == ("paused", 0)
        assert "(LookupError)" in batch.state_reason
        assert count_states() == {"planned": 5}
        assert shop.stats()["jobs"] == 0
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        look_after(queue, times=2)
        assert Batch.objects.get().state == "done"

    def test_a_provider_without_a_batch_service_says_so(self, launch, shop):
        queue = launch()
        account = Arm.objects.get().variant.account
        type(account).objects.update(provider="fake")
        jobs.run_job_queue(queue.pk)
        assert "no batch service" in Batch.objects.get().state_reason


def read_told():
    """What is on record of files at the provider, in order."""
    events = AuditEvent.objects.filter(action__startswith="batch.job_file").order_by("pk")
    return list(events.values_list("action", "details"))


class TestFiles:
    """Uploaded texts do not outlive their job at the provider."""

    def test_the_file_of_a_job_that_was_collected_is_deleted_and_that_is_on_record(self, launch, shop):
        queue = launch()
        jobs.run_job_queue(queue.pk)
        assert (shop.stats()["kept"], read_told()) == (1, [])
        look_after(queue)
        assert Batch.objects.get().state == "done"
        assert (shop.stats()["kept"], shop.stats()["deleted"]) == (0, 1)
        assert read_told() == [("batch.job_file_deleted", {"job": ProviderJob.objects.get().pk})]

    def test_the_file_of_a_cancelled_job_is_deleted_when_what_it_had_finished_is_here(self, launch, shop):
        shop.order(seconds=3600)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        jobs.run_job_queue(queue.pk)
        assert shop.stats()["kept"] == 1
        look_after(queue)
        assert shop.stats()["kept"] == 0

    @pytest.mark.parametrize("error", ["invalid_model", "token_limit_exceeded"])
    def test_the_file_of_a_job_that_was_not_taken_is_deleted(self, launch, shop, error):
        shop.order(refuse_jobs=error)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert ProviderJob.objects.get().state == "failed"
        assert shop.stats()["kept"] == 0

    @pytest.mark.parametrize("ends", ["cancelled", "input gone"])
    def test_the_file_of_a_job_that_is_never_made_is_deleted(self, launch, shop, echo, monkeypatch, ends):
        queue = launch()

        def pause(reached):
            if reached == "job_uploaded":
                actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "crash_point", pause)
            jobs.run_job_queue(queue.pk)
        [job] = ProviderJob.objects.all()
        assert (job.state, shop.stats()["kept"]) == ("uploaded", 1)
        if ends == "cancelled":
            actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        else:
            monkeypatch.setattr(echo, "write_prompts", lambda arm, input_ids: {})
            actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        look_after(queue)
        assert (shop.stats()["jobs"], shop.stats()["kept"]) == (0, 0)
        assert read_told() == [("batch.job_file_deleted", {"job": job.pk})]

    @pytest.mark.parametrize("status", [403, 404, 503])
    def test_a_provider_that_does_not_delete_it_holds_up_nothing_and_that_is_told(self, launch, shop, status, caplog):
        shop.order(delete_status=status)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert (Batch.objects.get().state, Batch.objects.get().state_reason) == ("done", "")
        job = ProviderJob.objects.get()
        assert (job.state, job.error, job.provider_file_id) == ("collected", "", "file-1")
        assert shop.stats()["kept"] == 1
        assert read_told() == [("batch.job_file_not_deleted", {"job": job.pk, "status": status})]
        assert f"Job {job.pk}: its file file-1 is still at the provider" in caplog.text
        assert "as ordered" not in caplog.text

    def test_a_runner_that_lost_its_queue_leaves_the_file_to_the_one_that_has_it(self, launch, shop, monkeypatch):
        shop.order(refuse_jobs="invalid_model")
        queue = launch()
        jobs.run_job_queue(queue.pk)
        pause = batch_state.pause_for

        def lose_the_queue(batch_id, reason):
            pause(batch_id, reason)
            WorkQueue.objects.update(runner="elsewhere:1:a")

        monkeypatch.setattr(batch_state, "pause_for", lose_the_queue)
        look_after(queue)
        assert (shop.stats()["kept"], read_told()) == (1, [])
        assert ProviderJob.objects.get().state == "submitted"

    def test_a_service_that_deletes_without_a_word_is_believed(self, launch, shop):
        shop.order(delete_status=204)
        queue = launch()
        jobs.run_job_queue(queue.pk)
        look_after(queue)
        assert shop.stats()["kept"] == 0
        assert [action for action, _ in read_told()] == ["batch.job_file_deleted"]

    def test_a_runner_that_dies_after_deleting_it_comes_to_the_same_end(self, launch, shop, monkeypatch):
        def die(*_, **__):
            raise Crash

        queue = launch()
        jobs.run_job_queue(queue.pk)
        with monkeypatch.context() as patch:
            patch.setattr(job_ledger, "finish_job", die)
            with pytest.raises(Crash):
                look_after(queue)
        WorkQueue.objects.update(runner="", heartbeat_at=None)
        look_after(queue)
        assert (Batch.objects.get().state, ProviderJob.objects.get().state) == ("done", "collected")
        assert (shop.stats()["kept"], shop.stats()["billed_twice"]) == (0, 0)


class Crash(BaseException):
    """Stands for a kill at a crash point, where no process of its own is needed."""


@pytest.fixture
def crash_at(monkeypatch):
    """Die once at the named place."""

    def arm(name):
        left = [name]

        def crash_point(place):
            if place in left:
                left.remove(place)
                raise Crash(place)

        for module in (jobs, results):
            monkeypatch.setattr(module, "crash_point", crash_point)

    return arm


STEPS = ["job_written", "job_created", "job_collecting", "in_commit"]


@pytest.mark.parametrize(
    ("provider", "place"),
    [*((provider, step) for provider in PROVIDERS for step in STEPS), ("openai_compatible", "job_uploaded")],
)
def test_a_runner_that_dies_at_any_step_leaves_one_job_and_no_second_payment(launch, shop, crash_at, place, provider):
    crash_at(place)
    queue = launch(provider)
    with pytest.raises(Crash):
        look_after(queue, times=3)
    WorkQueue.objects.update(runner="", heartbeat_at=None)
    look_after(queue, times=4)
    assert Batch.objects.get().state == "done"
    assert Result.objects.count() == 5
    stats = shop.stats()
    assert (stats["jobs"], stats["billed"], stats["billed_twice"]) == (1, 5, 0)
    assert not Attempt.objects.exclude(end="answered").exists()


class TestDue:
    def test_a_job_is_asked_about_ever_more_seldom(self, launch, shop):
        shop.order(seconds=3600)
        queue = launch()
        assert statements.find_queues_to_notify() == [queue.pk]
        jobs.run_job_queue(queue.pk)
        assert leases.find_due_queues() == []
        job = ProviderJob.objects.select_related("queue__batch").get()
        start = job.submitted_at
        assert start is not None

        def is_due(last, now):
            job.checked_at = start + datetime.timedelta(seconds=last)
            return leases.is_due(job, start + datetime.timedelta(seconds=now))

        assert not is_due(0, 29)
        assert is_due(0, 30)
        assert not is_due(60, 119)
        assert is_due(60, 120)
        assert not is_due(5000, 5599)
        assert is_due(5000, 5600)

    def test_cells_that_still_wait_for_their_next_try_hold_up_the_next_job(self, launch):
        queue = launch()
        Cell.objects.filter(input_id=1).update(not_before=read_now() + datetime.timedelta(seconds=30))
        assert leases.find_due_queues() == []
        Cell.objects.update(not_before=None)
        assert leases.find_due_queues() == [queue.pk]

    def test_a_held_queue_is_not_due_and_a_second_runner_returns_at_once(self, launch, shop):
        queue = launch()
        WorkQueue.objects.update(runner="here:1:a", heartbeat_at=read_now())
        assert leases.find_due_queues() == []
        assert jobs.run_job_queue(queue.pk) is False
        assert shop.stats()["files"] == 0


def test_a_job_that_was_created_twice_after_all_is_cancelled_at_once(launch, shop, monkeypatch):
    """Another runner found the job while this one, thought dead, was still creating it."""

    def find_meanwhile(place):
        if place == "job_created":
            ProviderJob.objects.update(provider_job_id="batch_elsewhere", state="submitted")

    monkeypatch.setattr(jobs, "crash_point", find_meanwhile)
    shop.order(seconds=3600)
    jobs.run_job_queue(launch().pk)
    assert shop.stats()["cancelled"] == 1
    assert ProviderJob.objects.get().provider_job_id == "batch_elsewhere"


def test_a_runner_that_lost_its_queue_creates_no_job(launch, shop, monkeypatch):
    queue = launch()
    monkeypatch.setattr(jobs, "crash_point", lambda place: WorkQueue.objects.update(runner="elsewhere:1:a"))
    jobs.run_job_queue(queue.pk)
    assert shop.stats()["jobs"] == 0
    assert WorkQueue.objects.get().runner == "elsewhere:1:a"


def test_no_text_of_a_job_stays_in_the_spool_folder(launch):
    queue = launch()
    jobs.run_job_queue(queue.pk)
    assert list(settings.SPOOL_FOLDER.iterdir()) == []


def test_a_file_that_the_client_is_closing_at_that_moment_is_no_error(monkeypatch):
    """It closes what it sends in a thread of its own; two threads that close one file meet now and then."""

    class Closing:
        def close(self):
            raise ValueError

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Closing())
    with jobs.open_nameless_file() as file:
        assert isinstance(file, Closing)


class TestGone:
    """A job that its provider does not know any more."""

    def lose(self, launch, shop, provider="openai_compatible"):
        shop.order(seconds=3600)
        queue = launch(provider, inputs=5)
        jobs.run_job_queue(queue.pk)
        ProviderJob.objects.update(provider_job_id="batch_gone")
        look_after(queue)
        return queue

    def wait_a_day(self):
        ProviderJob.objects.update(gone_since=F("gone_since") - datetime.timedelta(days=1, minutes=1))

    def lose_end_and_find(self, queue):
        """A job that the provider did not know for a day is ended by a person, and then it is there again."""
        jobs.run_job_queue(queue.pk)
        known = ProviderJob.objects.get().provider_job_id
        ProviderJob.objects.update(provider_job_id="batch_gone")
        look_after(queue)
        self.wait_a_day()
        actions.end_job(job=ProviderJob.objects.get(), by=trail.SYSTEM)
        ProviderJob.objects.update(provider_job_id=known)
        look_after(queue)

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_a_person_ends_it_and_its_calls_are_unknown_and_free(self, launch, shop, provider):
        queue = self.lose(launch, shop, provider)
        job = ProviderJob.objects.get()
        assert job.gone_since is not None
        assert not job.may_be_ended
        with pytest.raises(Refused, match="for a day"):
            actions.end_job(job=job, by=trail.SYSTEM)
        self.wait_a_day()
        look_after(queue)
        # Looking again does not begin the day anew.
        assert ProviderJob.objects.get().may_be_ended
        batch = Batch.objects.get()
        reserved = batch.reserved_nano
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        actions.end_job(job=ProviderJob.objects.get(), by=trail.SYSTEM)
        look_after(queue)
        assert count_states() == {"planned": 5}
        assert set(Attempt.objects.values_list("end", flat=True)) == {"unknown"}
        assert ProviderJob.objects.get().state == "failed"
        # What they may have cost stays reserved, and is on record.
        assert Batch.objects.get().reserved_nano == reserved > 0
        event = AuditEvent.objects.get(action="batch.job_ended")
        assert (event.details["calls"], Decimal(event.details["reserved_usd"])) == (5, Decimal(reserved) / 10**9)

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_a_server_that_is_down_in_between_does_not_begin_the_day_again(self, launch, shop, provider):
        queue = self.lose(launch, shop, provider)
        self.wait_a_day()
        since = ProviderJob.objects.get().gone_since
        shop.order(down=50)
        look_after(queue)
        job = ProviderJob.objects.get()
        assert job.error == "as ordered"
        assert (job.gone_since, job.may_be_ended) == (since, True)
        shop.order(down=0)
        look_after(queue)
        job = ProviderJob.objects.get()
        assert job.error not in {"", "as ordered"}
        assert (job.gone_since, job.may_be_ended) == (since, True)

    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_one_that_is_found_in_progress_and_lost_again_is_not_ended_without_asking(self, launch, shop, provider):
        shop.order(seconds=3600)
        queue = launch(provider, inputs=5)
        self.lose_end_and_find(queue)
        job = ProviderJob.objects.get()
        assert (job.state, job.gone_since, job.ended_at) == ("submitted", None, None)
        ProviderJob.objects.update(provider_job_id="batch_gone")
        look_after(queue)
        job = ProviderJob.objects.get()
        assert (job.state, job.is_gone, job.may_be_ended) == ("submitted", True, False)
        assert count_states() == {"leased": 5}

    def test_answers_that_are_gone_can_be_given_up_too(self, launch, shop, monkeypatch):
        shop.order(seconds=0)
        queue = launch("openai_compatible", inputs=5)
        status = JobStatus(JobState.ENDED, ["/nowhere"])
        monkeypatch.setattr(openai_compatible, "read_status", lambda _: status)
        look_after(queue, times=2)
        assert ProviderJob.objects.get().gone_since
        self.wait_a_day()
        # The job is there, its answers are not: the day goes on.
        look_after(queue)
        assert ProviderJob.objects.get().may_be_ended
        actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        actions.end_job(job=ProviderJob.objects.get(), by=trail.SYSTEM)
        look_after(queue)
        assert count_states() == {"cancelled": 5}
        assert Attempt.objects.filter(end="unknown").count() == 5

    def test_aborting_the_batch_ends_it_at_once(self, launch, shop):
        queue = self.lose(launch, shop)
        actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM, cut_off=True)
        look_after(queue)
        assert count_states() == {"cancelled": 5}
        assert Attempt.objects.filter(end="unknown").count() == 5

    def test_a_job_that_is_found_again_is_collected_although_it_was_to_end(self, launch, shop):
        shop.order(seconds=0)
        self.lose_end_and_find(launch("openai_compatible", inputs=5))
        assert count_states() == {"done": 5}
        assert ProviderJob.objects.get().gone_since is None

    def test_its_page_says_what_may_have_been_paid(self, launch, shop, client_of, owner, study):
        queue = self.lose(launch, shop)
        batch, job = Batch.objects.get(), ProviderJob.objects.get()
        page = reverse("batches:detail", args=[study.slug, batch.pk])
        address = reverse("batches:end_job", args=[study.slug, batch.pk, job.pk])
        client = client_of(owner)
        assert "not found at the provider since" in client.get(page).content.decode()
        assert address not in client.get(page).content.decode()
        assert "for a day" in client.get(address).content.decode()
        self.wait_a_day()
        assert address in client.get(page).content.decode()
        shown = " ".join(client.get(address).content.decode().split())
        assert "5 calls of this job have no answer. They may have been paid for, at most $" in shown
        assert client.post(address).status_code == 302
        assert "is being ended" in client.get(page).content.decode()
        look_after(queue)
        # The batch goes on, and asks again in another job.
        assert list(ProviderJob.objects.order_by("pk").values_list("state", flat=True)) == ["failed", "submitted"]
        assert client.get(address.replace(f"/{job.pk}/end", "/999999/end")).status_code == 404

    def test_the_command_ends_it_too(self, launch, shop):
        queue = self.lose(launch, shop)
        batch, job = Batch.objects.get(), ProviderJob.objects.get()
        number = str(batch.pk)
        for words, why in (
            ([number], "required: --job"),
            ([number, "--job", "999999"], f"There is no job of batch {number}"),
            ([number, "--job", str(job.pk)], f"Job {job.pk} cannot be ended yet\\. .* for a day"),
        ):
            with pytest.raises(CommandError, match=why):
                call_command("batch", "end-job", *words)
        self.wait_a_day()
        out = StringIO()
        call_command("batch", "show", number, "--json", stdout=out)
        call_command("batch", "end-job", number, "--job", str(job.pk), "--json", stdout=out)
        before, after = (json.loads(line)["gone_jobs"][0] for line in out.getvalue().splitlines())
        assert (before["job"], before["may_be_ended"], before["is_being_ended"]) == (job.pk, True, False)
        assert (after["may_be_ended"], after["is_being_ended"]) == (False, True)
        look_after(queue)
        assert ProviderJob.objects.order_by("pk")[0].state == "failed"

    def test_a_program_ends_it_too(self, launch, shop, owner, study):
        queue = self.lose(launch, shop)
        batch, job = Batch.objects.get(), ProviderJob.objects.get()
        token = create_token(user=owner, name="program", by=owner, scopes=Scope.values)[1]

        def ask(method, path=""):
            address = f"/api/v1/studies/{study.slug}/batches/{batch.pk}/{path}"
            sent = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {token}"}}
            answer = getattr(Client(), method)(address, **sent)
            return answer.status_code, answer.json()

        status, refused = ask("post", f"jobs/{job.pk}/end/")
        assert (status, "for a day" in str(refused)) == (409, True)
        assert ask("post", "jobs/999999/end/")[0] == 404
        self.wait_a_day()
        assert [each["may_be_ended"] for each in ask("get")[1]["gone_jobs"]] == [True]
        status, found = ask("post", f"jobs/{job.pk}/end/")
        assert (status, found["gone_jobs"][0]["is_being_ended"]) == (200, True)
        assert AuditEvent.objects.get(action="batch.job_ended").actor_id == str(owner.pk)
        look_after(queue)
        assert ask("get")[1]["gone_jobs"] == []


def test_a_failed_job_that_names_answers_has_them_stored_and_the_batch_pauses(launch, shop, monkeypatch):
    read = openai_compatible.read_status

    def fail(job):
        errors = {"data": [{"code": "internal_error", "message": "failed half-way"}]}
        return read({**job, "status": "failed", "errors": errors} if job.get("status") == "completed" else job)

    monkeypatch.setattr(openai_compatible, "read_status", fail)
    shop.order(seconds=0, leave_out=2)
    queue = launch("openai_compatible", inputs=5)
    look_after(queue, times=2)
    assert count_states() == {"done": 3, "planned": 2}
    ends = list(Attempt.objects.values_list("end", flat=True))
    assert sorted(ends) == ["answered"] * 3 + ["unknown"] * 2
    batch = Batch.objects.get()
    assert batch.spent_nano > 0
    assert (batch.state, "failed at the provider" in batch.state_reason) == ("paused", True)
    job = ProviderJob.objects.get()
    assert (job.state, job.error) == ("collected", "internal_error: failed half-way")


def test_a_job_that_fails_its_validation_is_refused():
    status = openai_compatible.read_status(
        {"status": "failed", "error_file_id": "e1", "errors": {"data": [{"code": "bad"}]}}
    )
    assert (status.state, status.error, list(status.results)) == (JobState.REFUSED, "bad", [])
