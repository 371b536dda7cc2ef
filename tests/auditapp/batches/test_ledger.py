import datetime
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.batches import actions, kinds, launching
from auditapp.batches.ledger import leases, results, statements
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Attempt, Batch, Cell, Result, WorkQueue
from auditapp.batches.pages.progress import read_progress
from auditapp.batches.pure.estimates import compute_cost, count_most_input, count_most_output, to_dollars, to_nano
from auditapp.batches.pure.spool import Spool
from auditapp.batches.routes.live_run import name_machine
from auditapp.batches.runner import recovery, tasks
from auditapp.llm.actions import add_model
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from tests.auditapp.batches.queues import ANSWER, LOST, RUNNER, Echo, claim, finish, hold, launch, plan
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused


@pytest.fixture
def echo(monkeypatch):
    kind = Echo()
    monkeypatch.setitem(kinds._kinds, "echo", kind)
    return kind


@pytest.mark.usefixtures("echo")
class TestClaim:
    def test_a_claim_writes_its_attempts_before_anything_is_sent(self, study):
        queue = launch(study)
        calls = claim(queue).calls
        assert len(calls) == 3
        assert Attempt.objects.filter(end="open", sent_at=None).count() == 3
        assert set(Cell.objects.values_list("state", flat=True)) == {"leased"}
        assert {str(attempt.request_id) for attempt in Attempt.objects.all()} == {
            call.request.request_id for call in calls
        }

    def test_a_cell_under_lease_is_not_claimed_again(self, study):
        queue = launch(study)
        assert len(claim(queue, 2).calls) == 2
        assert len(claim(queue, 2).calls) == 1
        assert claim(queue).calls == []

    def test_a_second_runner_does_not_get_a_held_queue(self, study):
        queue = launch(study)
        assert leases.acquire_queue(queue.pk, "here:2:bbbb") is None

    def test_a_runner_that_lost_its_queue_claims_nothing(self, study):
        queue = launch(study)
        WorkQueue.objects.filter(pk=queue.pk).update(runner="here:2:bbbb")
        assert claim(queue).stopped

    def test_a_paused_batch_gives_out_nothing(self, study):
        queue = launch(study)
        actions.pause_batch(batch=queue.batch, by=trail.SYSTEM)
        assert claim(queue).stopped

    def test_an_input_without_text_fails_its_cell_and_pays_nothing(self, study):
        queue = launch(study, inputs=[12, 13])
        assert [call.leased.input_id for call in claim(queue).calls] == [12]
        assert Cell.objects.get(input_id=13).outcome == "no_input"


class TestStore:
    def test_an_answer_ends_its_cell_and_settles_the_money(self, study, echo):
        queue = launch(study, inputs=[1])
        finish(queue, claim(queue), ANSWER)
        cell = Cell.objects.get()
        assert (cell.state, cell.outcome, cell.lease_owner) == ("done", "said", "")
        assert Result.objects.get().answer == "yes"
        attempt = Attempt.objects.get()
        assert (attempt.end, attempt.raw, attempt.cost_nano) == ("answered", '{"yes": 1}', 20_000)
        batch = Batch.objects.get()
        assert (batch.state, batch.spent_nano, batch.reserved_nano) == ("done", 20_000, 0)
        assert [each.answer for each in echo.seen] == ["yes"]

    def test_the_same_answer_twice_is_stored_once(self, study, echo):
        queue = launch(study, inputs=[1, 2])
        one = claim(queue, 1)
        finish(queue, one, ANSWER)
        finish(queue, one, ANSWER)
        assert Result.objects.count() == 1
        assert len(echo.seen) == 1

    def test_a_server_error_is_tried_again_later_and_gives_up_after_six(self, study, echo):
        queue = launch(study, inputs=[1])
        error = ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, http_status=500, error="status 500")
        for _ in range(6):
            Cell.objects.update(not_before=None)
            finish(queue, claim(queue), error)
        assert Cell.objects.get().outcome == "silent"
        assert Cell.objects.get().state == "failed"
        assert Attempt.objects.filter(end="refused").count() == 6
        assert [each.answer for each in echo.seen] == [None]

    def test_a_rate_limit_waits_as_asked_and_never_fails_a_cell(self, study, echo):
        queue = launch(study, inputs=[1])
        for _ in range(10):
            Cell.objects.update(not_before=None)
            before = timezone.now()
            finish(
                queue,
                claim(queue),
                ChatAnswer(CallOutcome.REFUSED, NextStep.SLOW_DOWN, http_status=429, retry_after=30),
            )
        cell = Cell.objects.get()
        assert cell.state == "planned"
        assert cell.not_before is not None
        assert before <= cell.not_before - datetime.timedelta(seconds=30) <= timezone.now()
        assert claim(queue).calls == []

    def test_a_lost_answer_is_retried_once_and_its_money_stays_reserved(self, study, echo):
        queue = launch(study, inputs=[1])
        lost = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error="lost")
        finish(queue, claim(queue), lost)
        held = Batch.objects.get().reserved_nano
        assert held > 0
        assert Cell.objects.get().state == "planned"
        finish(queue, claim(queue), lost)
        assert Cell.objects.get().state == "failed"
        progress = read_progress(Batch.objects.get())
        assert progress.unknown_calls == 2
        assert progress.unknown_nano == 2 * held

    def test_an_answer_found_late_replaces_an_unknown_end(self, study, echo):
        queue = launch(study, inputs=[1])
        leased = claim(queue)
        finish(queue, leased, ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error="lost"))
        finish(queue, leased, ANSWER)
        assert Attempt.objects.get().end == "answered"
        assert Cell.objects.get().state == "done"
        assert Batch.objects.get().reserved_nano == 0

    def test_a_runner_that_lost_its_lease_cannot_free_the_cell_of_another(self, study, echo):
        queue = launch(study, inputs=[1])
        old = claim(queue)
        Cell.objects.update(state="planned", lease_until=None, lease_owner="")
        claim(queue)
        finish(queue, old, ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, http_status=500))
        assert Cell.objects.get().state == "leased"

    def test_a_revoked_key_pauses_the_batch_and_says_why(self, study, echo):
        queue = launch(study)
        finish(
            queue,
            claim(queue, 1),
            ChatAnswer(CallOutcome.REFUSED, NextStep.STOP_BATCH, http_status=401, error="key revoked"),
        )
        batch = Batch.objects.get()
        assert (batch.state, batch.control) == ("paused", "pause")
        assert "status 401" in batch.state_reason
        assert "key revoked" not in batch.state_reason
        assert Cell.objects.filter(state="planned").count() == 3
        assert AuditEvent.objects.filter(action="batch.paused_by_worker").count() == 1


@pytest.mark.usefixtures("echo")
class TestMoney:
    def test_no_call_is_given_out_that_could_pass_the_cap(self, study):
        # 64 tokens for the chat format, at most one for each byte, 100 of the answer: at 1 and 2 dollars a million.
        one = (64 + len("Say it.text 1") + 2 * 100) * 1000
        queue = launch(study, inputs=range(1, 10), cap_usd=to_dollars(one * 2 + 1))
        first = claim(queue)
        assert len(first.calls) == 2
        assert claim(queue).out_of_money
        finish(queue, first, ANSWER)
        assert len(claim(queue).calls) == 1
        batch = Batch.objects.get()
        assert batch.cap_nano is not None
        assert batch.spent_nano + batch.reserved_nano <= batch.cap_nano

    def test_a_cap_needs_prices(self, study):
        variant = add_model(
            label="free", provider="openai_compatible", base_url="https://models.example/v1", model="m", by=trail.SYSTEM
        )
        with pytest.raises(Refused, match=r"A cap needs prices.* model set-price LABEL --price-in … --price-out …"):
            launching.launch_batch(
                study=study,
                kind="echo",
                title="Echo",
                arms=[launching.PlannedArm(variant, "task", "x")],
                input_ids=[1],
                options=launching.LaunchOptions(cap_usd=Decimal(1)),
                by=trail.SYSTEM,
            )

    def test_costs_are_exact_in_nanodollars(self):
        cost = compute_cost(tokens_in=1, tokens_out=1, price_in=Decimal("0.15"), price_out=Decimal("0.6"))
        assert cost == 750
        assert compute_cost(tokens_in=None, tokens_out=1, price_in=Decimal(1), price_out=Decimal(1)) is None
        assert to_nano(Decimal("1.000000001")) == 1_000_000_001


@pytest.mark.usefixtures("echo")
class TestControl:
    def test_cancelling_ends_planned_cells_and_keeps_results(self, study, owner):
        queue = launch(study)
        one = claim(queue, 1)
        actions.cancel_batch(batch=queue.batch, by=owner)
        finish(queue, one, ANSWER)
        assert sorted(Cell.objects.values_list("state", flat=True)) == ["cancelled", "cancelled", "done"]
        assert Batch.objects.get().state == "cancelled"
        assert Result.objects.count() == 1

    def test_a_cancelled_batch_cannot_be_resumed(self, study):
        queue = launch(study)
        actions.cancel_batch(batch=queue.batch, by=trail.SYSTEM)
        with pytest.raises(Refused, match="cancelled"):
            actions.resume_batch(batch=queue.batch, by=trail.SYSTEM)

    def test_launching_rings_each_queue_once_after_commit(self, study, monkeypatch, django_capture_on_commit_callbacks):
        notified = []
        monkeypatch.setattr(tasks, "notify_queue", notified.append)
        with django_capture_on_commit_callbacks(execute=True):
            queue = launch(study)
        assert notified == [queue.pk]


@pytest.mark.usefixtures("echo")
class TestStanding:
    """How a batch moves on by itself: after its pilot, at the end of a drain, over held cells."""

    def test_a_pilot_sends_its_own_cells_alone_and_then_waits_for_a_yes(self, study):
        queue = hold(plan(study, inputs=range(20, 30), pilot=3))
        leased = claim(queue)
        assert len(leased.calls) == 3
        assert set(Cell.objects.filter(state="leased").values_list("pilot", flat=True)) == {True}
        assert Batch.objects.get().state == "pilot"
        finish(queue, leased, ANSWER)
        batch = Batch.objects.get()
        assert (batch.state, batch.control) == ("waiting", "pause")
        assert claim(queue).stopped
        assert AuditEvent.objects.filter(action="batch.pilot_finished").count() == 1

    def test_a_pilot_with_a_retry_outstanding_does_not_wait_for_a_yes_yet(self, study):
        queue = hold(plan(study, inputs=range(20, 30), pilot=1))
        finish(queue, claim(queue), ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, http_status=500))
        assert Batch.objects.get().state == "pilot"
        assert statements.read_seconds_until_due(Batch.objects.get(), queue) is not None

    def test_a_drained_batch_begins_no_cell_and_pauses_when_those_begun_are_done(self, study):
        queue = launch(study, inputs=range(20, 24))
        one = claim(queue, 1)
        finish(queue, one, ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, http_status=500))
        actions.drain_batch(batch=queue.batch, by=trail.SYSTEM)
        assert claim(queue).calls == []
        assert Batch.objects.get().state == "running"
        Cell.objects.update(not_before=None)
        again = claim(queue)
        assert [call.leased.cell_id for call in again.calls] == [one.calls[0].leased.cell_id]
        finish(queue, again, ANSWER)
        batch = Batch.objects.get()
        assert (batch.state, batch.control) == ("paused", "pause")
        assert "drained" in batch.state_reason
        assert Cell.objects.filter(state="planned").count() == 3

    def test_draining_a_batch_of_which_nothing_was_begun_pauses_it(self, study):
        queue = launch(study)
        actions.drain_batch(batch=queue.batch, by=trail.SYSTEM)
        assert claim(queue).calls == []
        assert "drained" in Batch.objects.get().state_reason

    def test_a_lost_answer_holds_its_cell_where_the_batch_says_so(self, study):
        queue = hold(plan(study, inputs=[1, 2], lost_answers="hold"))
        finish(queue, claim(queue, 1), LOST)
        assert Cell.objects.get(input_id=1).state == "held"
        rest = claim(queue)
        assert [call.leased.input_id for call in rest.calls] == [2]
        finish(queue, rest, ANSWER)
        batch = Batch.objects.get()
        assert (batch.state, batch.control) == ("paused", "pause")
        assert "1 cell is held" in batch.state_reason

    def test_an_answer_found_late_frees_a_held_cell(self, study):
        queue = hold(plan(study, inputs=[1], lost_answers="hold"))
        leased = claim(queue)
        finish(queue, leased, LOST)
        finish(queue, leased, ANSWER)
        assert Cell.objects.get().state == "done"
        assert Batch.objects.get().state == "done"

    def test_a_call_cut_off_by_an_abort_is_unknown_and_its_cell_is_cancelled(self, study):
        queue = launch(study, inputs=[1])
        leased = claim(queue)
        actions.cancel_batch(batch=queue.batch, by=trail.SYSTEM, cut_off=True)
        finish(queue, leased, ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.ABORTED))
        assert Cell.objects.get().state == "cancelled"
        attempt = Attempt.objects.get()
        assert (attempt.end, attempt.error_class) == ("unknown", "aborted")
        assert Batch.objects.get().reserved_nano == attempt.reserved_nano > 0

    def test_orders_tell_what_people_want_and_whose_the_queue_is(self, study):
        queue = launch(study)
        assert leases.poll(queue, RUNNER) == ("run", 30, "running", True)
        actions.change_concurrency(batch=queue.batch, concurrency=7, by=trail.SYSTEM)
        actions.pause_batch(batch=queue.batch, by=trail.SYSTEM)
        orders = leases.poll(queue, "here:2:bbbb")
        assert orders == ("pause", 7, "paused", False)
        assert not orders.may_claim


@pytest.mark.usefixtures("echo")
class TestAttempt:
    """What one row of the ledger says once it is complete."""

    def test_all_that_the_provider_told_is_kept(self, study):
        queue = launch(study, inputs=[1])
        call = claim(queue).calls[0]
        sent_at = timezone.now()
        answer = ChatAnswer(
            CallOutcome.ANSWERED,
            content="yes",
            raw="{}",
            http_status=200,
            finish_reason="stop",
            served_model="m-2",
            served_route="west",
            provider_request_id="r",
            provider_answer_id="a",
            tokens_in=10,
            tokens_out=5,
            tokens_cached=4,
            tokens_reasoning=3,
            first_byte_after=0.25,
        )
        later = sent_at + datetime.timedelta(seconds=1)
        results.store_completed(queue.batch_id, [CompletedCall(call.leased, answer, later, sent_at)])
        row = Attempt.objects.get()
        assert (row.arm_id, row.prompt) == (call.leased.arm_id, "text 1")
        assert (row.served_model, row.served_route) == ("m-2", "west")
        assert (row.provider_request_id, row.provider_answer_id) == ("r", "a")
        assert (row.tokens_cached, row.tokens_reasoning) == (4, 3)
        assert row.sent_at == sent_at
        assert row.first_byte_at == sent_at + datetime.timedelta(seconds=0.25)
        assert row.done_at == later

    def test_a_call_that_never_left_has_no_time_of_sending(self, study):
        queue = launch(study, inputs=[1])
        results.hand_back(queue.batch_id, [call.leased for call in claim(queue).calls])
        assert Attempt.objects.get().sent_at is None

    def test_a_failed_answer_costs_what_its_usage_says(self, study):
        queue = launch(study, inputs=[1])
        failed = ChatAnswer(
            CallOutcome.FAILED,
            NextStep.RETRY,
            error_class=ErrorClass.BAD_ANSWER,
            http_status=200,
            tokens_in=10,
            tokens_out=5,
        )
        finish(queue, claim(queue), failed)
        batch, row = Batch.objects.get(), Attempt.objects.get()
        assert (row.error_class, row.cost_nano) == ("bad_answer", 20_000)
        assert (batch.spent_nano, batch.reserved_nano) == (20_000, 0)

    def test_a_failed_answer_without_usage_keeps_its_money_reserved(self, study):
        queue = launch(study, inputs=[1])
        finish(queue, claim(queue), ChatAnswer(CallOutcome.FAILED, NextStep.RETRY, http_status=200))
        batch, row = Batch.objects.get(), Attempt.objects.get()
        assert row.cost_nano is None
        assert (batch.spent_nano, batch.reserved_nano) == (0, row.reserved_nano)


class TestHighestCost:
    def test_it_counts_what_parameters_may_add_to_either_side(self):
        assert count_most_output(100, {}) == 100
        assert count_most_output(100, {"max_tokens": 300, "n": 2}) == 600
        assert count_most_output(100, {"max_completion_tokens": 50, "thinking": {"budget_tokens": 1000}}) == 1100
        assert count_most_output(100, {"n": "three", "best_of": 0}) == 100

    @pytest.mark.parametrize("words", ["plain", "日本語のテキスト", "🙂🙂🙂", "\u0000\u0001"])
    def test_no_text_has_more_tokens_than_bytes(self, words):
        assert count_most_input(words) == len(words.encode()) + 64


@pytest.mark.usefixtures("echo")
class TestConstraints:
    def test_a_cell_has_one_result_at_most(self, study):
        queue = launch(study, inputs=[1])
        calls = claim(queue).calls
        Result.objects.create(
            cell_id=calls[0].leased.cell_id, attempt_id=calls[0].leased.attempt_id, stored_at=timezone.now()
        )
        with pytest.raises(IntegrityError), transaction.atomic():
            Result.objects.create(
                cell_id=calls[0].leased.cell_id, attempt_id=calls[0].leased.attempt_id, stored_at=timezone.now()
            )

    def test_a_cell_is_unique_in_its_arm(self, study):
        queue = launch(study, inputs=[1])
        cell = Cell.objects.get()
        with pytest.raises(IntegrityError), transaction.atomic():
            Cell.objects.create(batch=queue.batch, arm=cell.arm, input_id=1)

    def test_a_lease_has_an_end(self, study):
        launch(study, inputs=[1])
        with pytest.raises(IntegrityError), transaction.atomic():
            Cell.objects.update(state="leased")


@pytest.mark.usefixtures("echo")
class TestSweep:
    def test_a_queue_with_work_and_no_runner_is_notified(self, study):
        queue = launch(study)
        assert statements.find_queues_to_notify() == []
        leases.release_queue(queue, "here:1:aaaa")
        assert statements.find_queues_to_notify() == [queue.pk]

    def test_a_queue_whose_cells_wait_is_not_notified(self, study):
        queue = launch(study)
        leases.release_queue(queue, "here:1:aaaa")
        Cell.objects.update(not_before=timezone.now() + datetime.timedelta(minutes=1))
        assert statements.find_queues_to_notify() == []
        assert 55 < (statements.read_seconds_until_due(queue.batch, queue) or 0) <= 60


class TestRecovery:
    """What becomes of the calls of a runner that died: the spool tells the three cases apart."""

    @pytest.fixture(autouse=True)
    def spool_folder(self, monkeypatch, tmp_path):
        monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path)

    def die(self, queue, leased, *, sent, answered):
        """A runner of a process that is gone, which sent some calls and saw some answers."""
        runner = f"{name_machine()}:{2**22 - 1}:dead"
        WorkQueue.objects.filter(pk=queue.pk).update(runner=runner)
        Attempt.objects.update(runner=runner)
        spool = Spool(settings.SPOOL_FOLDER, runner)
        for number, call in enumerate(leased.calls):
            if number < sent:
                spool.note_sent(call.request.request_id)
            if number < answered:
                spool.note_answer(call.request.request_id, ANSWER, timezone.now().isoformat())
        spool.close(keep=True)

    def test_an_answer_that_came_is_stored_without_a_second_call(self, study, echo):
        queue = launch(study)
        self.die(queue, claim(queue), sent=2, answered=1)
        assert recovery.recover_queues() == 1
        assert list(Attempt.objects.order_by("pk").values_list("end", flat=True)) == ["answered", "unknown", "unsent"]
        assert list(Cell.objects.order_by("pk").values_list("state", flat=True)) == ["done", "planned", "planned"]
        assert Result.objects.count() == 1
        assert read_progress(Batch.objects.get()).unknown_calls == 1
        assert WorkQueue.objects.get().runner == ""

    def test_a_call_lost_to_two_kills_is_not_sent_a_third_time(self, study, echo):
        queue = launch(study, inputs=[1])
        for _ in range(2):
            WorkQueue.objects.filter(pk=queue.pk).update(runner="here:1:aaaa")
            self.die(queue, claim(queue), sent=1, answered=0)
            recovery.recover_queues()
        assert Cell.objects.get().state == "failed"
        assert Attempt.objects.filter(end="unknown").count() == 2

    def test_a_runner_that_is_only_silent_may_have_sent_what_it_held(self, study, echo):
        queue = launch(study, inputs=[1])
        claim(queue)
        WorkQueue.objects.filter(pk=queue.pk).update(heartbeat_at=timezone.now() - datetime.timedelta(minutes=5))
        assert recovery.recover_queues() == 1
        assert Attempt.objects.get().end == "unknown"

    def test_an_answer_its_feature_cannot_store_holds_up_nobody(self, study, echo, monkeypatch):
        def choke(batch, answers):
            if any(each.input_id == 2 for each in answers):
                raise ValueError("poison")
            return {each.cell_id: "said" for each in answers}

        monkeypatch.setattr(echo, "store_answers", choke)
        queue = launch(study)
        finish(queue, claim(queue), ANSWER)
        assert list(Cell.objects.order_by("pk").values_list("outcome", flat=True)) == ["said", "not_storable", "said"]
        assert Result.objects.count() == 3
        assert Batch.objects.get().state == "done"

    def test_a_cancelled_batch_keeps_no_planned_cell(self, study, echo):
        queue = launch(study)
        leased = claim(queue)
        actions.cancel_batch(batch=queue.batch, by=trail.SYSTEM)
        results.hand_back(queue.batch_id, [call.leased for call in leased.calls])
        assert set(Cell.objects.values_list("state", flat=True)) == {"cancelled"}
