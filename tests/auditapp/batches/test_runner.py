"""One stay of a runner in a queue, with a provider that answers by script and the test's own database connection."""

import asyncio
import random
import time
from collections import namedtuple
from functools import partial

import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError

from auditapp.batches import actions, kinds, launching
from auditapp.batches.ledger import endings, leases, results, statements
from auditapp.batches.models import Attempt, Batch, Cell, LimitChange, Result, WorkQueue
from auditapp.batches.pure.estimates import to_dollars
from auditapp.batches.pure.limiter import Limiter
from auditapp.batches.pure.spool import Spool, is_abandoned, read_spool
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run, sending
from auditapp.llm.actions import allow_address
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep, ProviderNotReady
from auditapp.outbound.clock import LedgerClock, read_now
from tests.auditapp.batches.queues import (
    ANSWER,
    BUSY,
    LOST,
    TOO_MANY,
    Echo,
    ScriptedProvider,
    borrowed_connection,
    claim,
    finish,
    hold,
    make_variant,
    plan,
)
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def stage(monkeypatch, tmp_path, db):
    """A spool folder of one's own, the kind of the tests, and a writer that sees what the test has not committed."""
    monkeypatch.setitem(kinds._kinds, "echo", Echo())
    monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "spool")
    with borrowed_connection(monkeypatch):
        yield


@pytest.fixture
def use(monkeypatch):
    """Have queues call this provider."""

    def put(provider):
        monkeypatch.setattr(live_run, "open_provider", lambda account: provider)
        return provider

    return put


NOT_FOUND = ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=404, error_class=ErrorClass.BAD_REQUEST)
REFUSED_CONNECTION = ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error_class=ErrorClass.CONNECTION)
TIMED_OUT = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.TIMEOUT)
TOO_LONG = ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error_class=ErrorClass.CONTEXT_OVERFLOW)
FLAGGED = ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error_class=ErrorClass.MODERATION)


def ends():
    return sorted(Attempt.objects.values_list("end", flat=True))


def at_call(number, act, answer=ANSWER):
    """A script that does something in the world when a call is answered."""
    seen = []

    def reply(request):
        seen.append(request.request_id)
        if len(seen) == number:
            act()
        return answer

    return reply


def in_writer(monkeypatch, number, act):
    """Do something before the ``number``-th reading of orders, on the thread that may use the database."""
    count = 0
    read = leases.poll

    def poll(queue, name):
        nonlocal count
        count += 1
        if count == number:
            act()
        return read(queue, name)

    # It asks at every turn of its loop, which comes soon: the order arrives long before the calls under way are answered.
    monkeypatch.setattr(live_run, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(live_run, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(leases, "poll", poll)


class TestWork:
    def test_a_queue_is_worked_to_its_end_and_let_go(self, study, use):
        provider = use(ScriptedProvider())
        queue = plan(study, inputs=range(20, 70))
        assert live_run.run_queue(queue.pk) is False
        assert len(provider.asked) == 50
        assert Result.objects.count() == 50
        assert ends() == ["answered"] * 50
        assert Batch.objects.get().state == "done"
        queue.refresh_from_db()
        assert (queue.runner, queue.in_flight) == ("", 0)
        assert list(settings.SPOOL_FOLDER.iterdir()) == []

    def test_never_more_calls_are_in_flight_than_people_set(self, study, use):
        provider = use(ScriptedProvider(takes=0.002))
        live_run.run_queue(plan(study, inputs=range(20, 60), concurrency=4).pk)
        assert provider.most_in_flight == 4

    @pytest.mark.parametrize(("address", "first"), [("http://127.0.0.1:1/v1", 2), ("https://models.example/v1", 20)])
    def test_a_private_address_gets_two_calls_at_first(self, study, use, address, first):
        use(ScriptedProvider())
        allow_address(address="127.0.0.1:1", by=trail.SYSTEM)
        live_run.run_queue(plan(study, inputs=range(20, 30), variant=make_variant(base_url=address)).pk)
        started = LimitChange.objects.earliest("pk")
        assert (started.cause, started.limit) == ("start", first)

    def test_time_outs_shrink_the_limit_and_the_next_runner_knows_of_them(self, study, use, monkeypatch):
        # Once the server is taken for silent, the run ends instead of waiting for it.
        monkeypatch.setattr(live_run, "WAIT_AT_MOST", 0.5)
        use(ScriptedProvider(lambda request: TIMED_OUT, takes=0.05))
        queue = plan(study, inputs=range(20, 40))
        live_run.run_queue(queue.pk)
        assert LimitChange.objects.filter(cause="timed_out", limit=10).exists()
        assert leases.read_held_limit(WorkQueue.objects.get(pk=queue.pk))[1] >= {"start", "timed_out"}

    def test_a_limit_learnt_with_another_kind_of_batch_is_not_inherited(self, study):
        variant = make_variant()
        earlier, later = (plan(study, inputs=range(20, 22), variant=variant) for _ in range(2))
        WorkQueue.objects.filter(pk=earlier.pk).update(limit=64)
        assert leases.read_held_limit(later)[0] == 64
        Batch.objects.filter(pk=earlier.batch_id).update(kind="another")
        LimitChange.objects.create(queue=earlier, at=read_now(), limit=64, in_flight=1, cause="timed_out")
        assert leases.read_held_limit(WorkQueue.objects.get(pk=later.pk)) == (None, {"timed_out"})

    def test_a_second_runner_goes_away_at_once(self, study, use):
        provider = use(ScriptedProvider())
        queue = plan(study)
        assert leases.acquire_queue(queue.pk, "here:2:bbbb") is not None
        assert live_run.run_queue(queue.pk) is False
        assert provider.asked == []

    def test_times_are_in_order(self, study, use):
        use(
            ScriptedProvider(
                lambda request: ChatAnswer(CallOutcome.ANSWERED, content="y", first_byte_after=0.001), takes=0.01
            )
        )
        live_run.run_queue(plan(study).pk)
        for row in Attempt.objects.all():
            assert row.sent_at is not None
            assert row.first_byte_at is not None
            assert row.done_at is not None
            assert row.written_at <= row.sent_at < row.first_byte_at < row.done_at
            assert (row.done_at - row.sent_at).total_seconds() >= 0.01

    def test_a_server_error_frees_its_slot_and_is_tried_again_when_due(self, study, use, monkeypatch):
        monkeypatch.setattr("auditapp.batches.ledger.endings.random.uniform", lambda low, high: 0.05)
        failed = set()

        def reply(request):
            if request.user not in failed:
                failed.add(request.user)
                return BUSY
            return ANSWER

        provider = use(ScriptedProvider(reply))
        live_run.run_queue(plan(study, inputs=range(20, 25), concurrency=1).pk)
        assert Batch.objects.get().state == "done"
        assert len(provider.asked) == 10
        assert [request.user for request in provider.asked[:2]] == ["text 20", "text 21"]

    def test_a_provider_that_breaks_its_promise_is_an_unknown_end(self, study, use, caplog):
        def fail(request):
            raise ValueError("a bug")

        use(ScriptedProvider(fail))
        live_run.run_queue(plan(study, inputs=[1]).pk)
        assert set(Attempt.objects.values_list("end", "error_class")) == {("unknown", "broken_provider")}

    def test_a_provider_that_cannot_be_opened_pauses_the_batch_with_its_sentence(self, study, monkeypatch):
        def refuse(account):
            raise ProviderNotReady("There is no key.")

        monkeypatch.setattr(live_run, "open_provider", refuse)
        queue = plan(study)
        assert live_run.run_queue(queue.pk) is False
        assert Batch.objects.get().state_reason == "There is no key."
        queue.refresh_from_db()
        assert queue.runner == ""


class TestControl:
    def test_a_pause_stops_new_calls_and_hands_back_what_was_not_sent(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.6))
        queue = plan(study, inputs=range(20, 120), concurrency=5)
        asked_then = []

        def pause():
            actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
            asked_then.append(len(provider.asked))

        in_writer(monkeypatch, 2, pause)
        assert live_run.run_queue(queue.pk) is False
        assert len(provider.asked) - asked_then[0] <= 5
        assert set(ends()) == {"answered", "unsent"}
        assert Attempt.objects.filter(end="answered").count() == len(provider.asked)
        assert not Cell.objects.filter(state="leased").exists()
        assert Batch.objects.get().reserved_nano == 0

    def test_a_paused_batch_goes_on_when_it_is_resumed(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.02))
        queue = plan(study, inputs=range(20, 60), concurrency=5)
        in_writer(monkeypatch, 2, lambda: actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM))
        live_run.run_queue(queue.pk)
        actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"
        assert len(provider.asked) == 40

    def test_a_resume_takes_effect_while_calls_of_before_the_pause_are_in_flight(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.4))
        queue = plan(study, inputs=range(20, 28), concurrency=5)
        in_writer(monkeypatch, 2, lambda: actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM))
        in_writer(monkeypatch, 4, lambda: actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM))
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"
        assert len(provider.asked) == 8
        assert "unsent" in ends()

    def test_a_cancel_lets_the_calls_in_flight_end(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.05))
        queue = plan(study, inputs=range(20, 60), concurrency=5)
        in_writer(monkeypatch, 2, lambda: actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM))
        live_run.run_queue(queue.pk)
        assert set(Cell.objects.values_list("state", flat=True)) == {"done", "cancelled"}
        assert Result.objects.count() == len(provider.asked) < 40

    def test_an_abort_cuts_off_the_calls_in_flight_and_marks_them(self, study, use, monkeypatch):
        use(ScriptedProvider(takes=30))
        queue = plan(study, inputs=range(20, 40), concurrency=5)
        abort = lambda: actions.cancel_batch(batch=Batch.objects.get(), by=trail.SYSTEM, cut_off=True)  # noqa: E731
        in_writer(monkeypatch, 4, abort)
        begun = time.monotonic()
        live_run.run_queue(queue.pk)
        assert time.monotonic() - begun < 15
        cut = Attempt.objects.filter(end="unknown")
        assert cut.count() == 5
        assert set(cut.values_list("error_class", flat=True)) == {"aborted"}
        assert set(Cell.objects.values_list("state", flat=True)) == {"cancelled"}

    def test_a_call_that_was_to_leave_in_the_turn_of_the_abort_stays_and_nobody_waits_for_it(self, study):
        provider, clock = ScriptedProvider(takes=30), LedgerClock()
        calls = claim(hold(plan(study)), 2).calls
        clock.learn()
        sender = sending.Sender(provider, Spool(settings.SPOOL_FOLDER, "here:1:cut"), Limiter(5), clock)

        async def send_and_cut_off():
            sender.ready.append(calls[0])
            sender.send()
            await asyncio.sleep(0)
            sender.ready.append(calls[1])
            sender.send()
            sender.stopped = True
            sender.cut_off()
            await sender.wait_for_answers(5)

        asyncio.run(send_and_cut_off())
        assert sender.is_idle
        assert [each.answer.end for each in sender.completed] == ["unsent", "unknown"]
        assert len(provider.asked) == 1
        results.store_completed(Batch.objects.get().pk, sender.take_completed())
        sender.spool.close(keep=False)

    def test_more_calls_in_flight_take_effect_while_it_runs(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.03))
        queue = plan(study, inputs=range(20, 90), concurrency=2)

        def raise_it():
            actions.change_concurrency(batch=Batch.objects.get(), concurrency=15, by=trail.SYSTEM)

        in_writer(monkeypatch, 3, raise_it)
        live_run.run_queue(queue.pk)
        assert provider.most_in_flight == 15
        assert list(LimitChange.objects.values_list("limit", "cause")) == [(2, "start"), (15, "setting")]

    def test_a_worker_that_shuts_down_sends_nothing_more_and_asks_to_be_rung_again(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.02))
        queue = plan(study, inputs=range(20, 120), concurrency=5)
        in_writer(monkeypatch, 2, stopping.set)
        assert live_run.run_queue(queue.pk) is True
        assert 0 < len(provider.asked) < 100
        assert not Attempt.objects.filter(end="open").exists()

    def test_after_its_time_a_runner_sends_what_it_holds_and_asks_to_be_rung_again(self, study, use, monkeypatch):
        its_time_is_up = partial(monkeypatch.setattr, live_run, "MAX_LIFE_SECONDS", -1.0)
        use(ScriptedProvider(at_call(10, its_time_is_up), takes=0.02))
        monkeypatch.setattr(live_run, "BEAT_SECONDS", 0.02)
        queue = plan(study, inputs=range(20, 220), concurrency=5)
        assert live_run.run_queue(queue.pk) is True
        assert set(ends()) == {"answered"}
        assert 10 <= len(ends()) < 200

    @pytest.mark.parametrize("waiting", [True, False])
    def test_a_runner_makes_room_for_another_queue_and_goes_on_when_none_waits(self, study, use, monkeypatch, waiting):
        monkeypatch.setattr(live_run, "LIFE_SECONDS", 0.05)
        monkeypatch.setattr(live_run, "BEAT_SECONDS", 0.02)
        monkeypatch.setattr(statements, "find_queues_to_notify", lambda **_: [7] if waiting else [])
        use(ScriptedProvider(takes=0.02))
        queue = plan(study, inputs=range(20, 220), concurrency=5)
        assert live_run.run_queue(queue.pk) is waiting
        assert (len(ends()) < 200) is waiting


class TestRefusals:
    def test_a_revoked_key_stops_the_queue_within_the_calls_in_flight(self, study, use):
        refused = ChatAnswer(CallOutcome.REFUSED, NextStep.STOP_BATCH, http_status=401, error_class=ErrorClass.ACCOUNT)
        provider = use(ScriptedProvider(lambda request: refused, takes=0.001))
        live_run.run_queue(plan(study, inputs=range(20, 120), concurrency=5).pk)
        assert len(provider.asked) <= 5 + 3
        assert "status 401" in Batch.objects.get().state_reason

    def test_messages_that_cannot_be_written_pause_the_batch_and_the_queue_is_not_rung_again(
        self, study, use, monkeypatch
    ):
        class Broken(Echo):
            def write_prompts(self, arm, input_ids):
                raise LookupError("gone")

        provider = use(ScriptedProvider())
        monkeypatch.setitem(kinds._kinds, "echo", Broken())
        queue = plan(study, inputs=range(20, 40))
        live_run.run_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "(LookupError)" in batch.state_reason
        assert not provider.asked
        assert statements.find_queues_to_notify() == []
        assert WorkQueue.objects.get().runner == ""

    def test_requests_that_are_all_too_long_pause_the_batch_and_say_so(self, study, use):
        use(ScriptedProvider(lambda request: TOO_LONG))
        live_run.run_queue(plan(study, inputs=range(20, 120)).pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "too long for the model's context" in batch.state_reason

    def test_a_wrong_address_pauses_the_batch_after_the_calls_in_flight(self, study, use):
        provider = use(ScriptedProvider(lambda request: NOT_FOUND, takes=0.001))
        queue = plan(study, inputs=range(20, 220), concurrency=5)
        live_run.run_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert batch.state_reason.startswith("Every call so far was refused with status 404 (bad_request); attempt ")
        assert 20 <= len(provider.asked) < 60
        use(ScriptedProvider())
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) >= 20
        live_run.run_queue(queue.pk)
        batch.refresh_from_db()
        assert (batch.state, Result.objects.count()) == ("done", 200)

    @pytest.mark.parametrize("pilot", [0, 6])
    def test_a_small_batch_or_pilot_that_was_refused_whole_is_not_done(self, study, use, pilot):
        use(ScriptedProvider(lambda request: NOT_FOUND))
        queue = plan(study, inputs=range(20, 26 + pilot), pilot=pilot)
        live_run.run_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "Check the address and the model's name" in batch.state_reason
        use(ScriptedProvider())
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 6
        live_run.run_queue(queue.pk)
        batch.refresh_from_db()
        assert batch.state == ("waiting" if pilot else "done")

    def test_whoever_resumes_without_a_retry_takes_the_refusals_as_the_end(self, study, use):
        use(ScriptedProvider(lambda request: NOT_FOUND))
        queue = plan(study, inputs=range(20, 26))
        live_run.run_queue(queue.pk)
        actions.resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"

    @pytest.mark.parametrize("first", [ANSWER, FLAGGED])
    def test_refusals_beside_a_word_about_a_text_are_about_their_texts(self, study, use, first):
        use(ScriptedProvider(lambda request: first if request.user == "text 20" else NOT_FOUND))
        live_run.run_queue(plan(study, inputs=range(20, 60), concurrency=5).pk)
        assert Batch.objects.get().state == "done"

    def test_refusals_of_a_moderator_alone_pause_nothing(self, study, use):
        use(ScriptedProvider(lambda request: FLAGGED))
        live_run.run_queue(plan(study, inputs=range(20, 60)).pk)
        assert Batch.objects.get().state == "done"

    def test_a_refused_queue_keeps_a_batch_from_being_done_by_another_queue(self, study):
        variants = [make_variant(), make_variant(base_url="https://other.example/v1")]
        launching.launch_batch(
            study=study,
            kind="echo",
            title="Echo",
            arms=[launching.PlannedArm(each, "task", "Say it.") for each in variants],
            input_ids=list(range(20, 26)),
            by=trail.SYSTEM,
        )
        refused, answered = (hold(queue) for queue in WorkQueue.objects.order_by("pk"))
        of_refused, of_answered = claim(refused), claim(answered)
        finish(refused, of_refused, NOT_FOUND)
        finish(answered, of_answered, ANSWER)
        assert Batch.objects.get().state == "paused"

    def test_a_storm_of_rate_limits_ends_the_stay_and_keeps_the_ban_for_the_next(self, study, use):
        provider = use(ScriptedProvider(lambda request: TOO_MANY))
        queue = plan(study, inputs=range(20, 220), concurrency=20)
        assert live_run.run_queue(queue.pk) is False
        sent = len(provider.asked)
        assert sent <= 20 + 20
        queue.refresh_from_db()
        assert queue.slow_until is not None
        assert queue.limit == 16
        assert LimitChange.objects.filter(cause="rate_limited", wait_seconds=30).count() == 1
        assert live_run.run_queue(queue.pk) is False
        assert len(provider.asked) == sent
        assert Batch.objects.get().state == "running"
        assert not Cell.objects.filter(state__in=["leased", "failed"]).exists()

    def test_the_cap_is_never_crossed_and_the_batch_says_so(self, study, use):
        # 64 tokens for the chat format, at most one for each byte, 100 of the answer: at 1 and 2 dollars a million.
        one = (64 + len("Say it.text 21") + 2 * 100) * 1000
        provider = use(ScriptedProvider(takes=0.001))
        queue = plan(study, inputs=range(20, 99), cap_usd=to_dollars(one * 3 + 1), concurrency=10)
        live_run.run_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "cap" in batch.state_reason
        assert provider.asked
        assert batch.cap_nano is not None
        assert batch.spent_nano + batch.reserved_nano <= batch.cap_nano


class TestOutage:
    @pytest.fixture(autouse=True)
    def hurry(self, monkeypatch):
        """A run ends as soon as it would have to wait, and probes come at once."""
        monkeypatch.setattr(live_run, "WAIT_AT_MOST", 0.5)
        monkeypatch.setattr(live_run, "POLL_SECONDS", 0.02)
        monkeypatch.setattr(endings, "MAX_BACKOFF", 0.0)

    @staticmethod
    def run_again(queue):
        """As the sweep does it once the wait is over."""
        WorkQueue.objects.filter(pk=queue.pk).update(slow_until=None)
        assert statements.find_queues_to_notify() == [queue.pk]
        live_run.run_queue(queue.pk)

    @pytest.mark.parametrize(
        "silence", [BUSY, *(pytest.param(each, marks=pytest.mark.full) for each in (REFUSED_CONNECTION, LOST))]
    )
    def test_a_server_that_does_not_answer_is_left_alone_for_a_while_and_costs_no_cell_its_tries(
        self, study, use, silence
    ):
        provider = use(ScriptedProvider(lambda request: silence, takes=0.001))
        queue = plan(study, inputs=range(20, 220), concurrency=5)
        assert live_run.run_queue(queue.pk) is False
        assert len(provider.asked) <= 5 + 5
        for number in range(20):
            self.run_again(queue)
            assert len(provider.asked) <= 10 + number + 1
        queue.refresh_from_db()
        assert queue.silent_since is not None
        assert queue.slow_until is not None
        assert Batch.objects.get().state == "running"
        assert not Cell.objects.exclude(state="planned").exists()
        assert Cell.objects.filter(tries__gt=1).count() == Cell.objects.filter(unknown_ends__gt=1).count() == 0
        assert len({request.user for request in provider.asked[-15:]}) == 15
        use(ScriptedProvider())
        self.run_again(queue)
        assert Batch.objects.get().state == "done"
        assert Result.objects.count() == 200

    def test_a_server_that_hangs_is_recognised_before_any_cell_is_given_up(self, study, use, monkeypatch):
        """With two calls in flight, as at a private address: the same two must not time out again and again."""
        monkeypatch.setattr(live_run, "WAIT_AT_MOST", 5.0)
        use(ScriptedProvider(lambda request: TIMED_OUT, takes=0.3))
        queue = plan(study, inputs=range(20, 60), concurrency=2)
        monkeypatch.setattr(live_run, "MAX_LIFE_SECONDS", 4.0)
        monkeypatch.setattr(live_run, "LIFE_SECONDS", 4.0)
        live_run.run_queue(queue.pk)
        queue.refresh_from_db()
        assert queue.silent_since is not None
        assert not Cell.objects.filter(state="failed").exists()
        assert Cell.objects.filter(unknown_ends__gt=1).count() == 0

    def test_after_minutes_without_an_answer_the_batch_pauses_and_resumes_by_itself(self, study, use, monkeypatch):
        use(ScriptedProvider(lambda request: BUSY, takes=0.001))
        queue = plan(study, inputs=range(20, 60), concurrency=5)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "running"
        monkeypatch.setattr(settings, "OUTAGE_PAUSE_SECONDS", 0)
        self.run_again(queue)
        batch = Batch.objects.get()
        assert (batch.state, batch.control) == ("paused", "run")
        assert "does not answer" in batch.state_reason
        self.run_again(queue)
        assert Batch.objects.get().state == "paused"
        use(ScriptedProvider())
        self.run_again(queue)
        batch = Batch.objects.get()
        assert (batch.state, batch.state_reason) == ("done", "")
        assert Result.objects.count() == 40
        queue.refresh_from_db()
        assert queue.silent_since is None
        events = AuditEvent.objects.filter(action__contains="outage").order_by("pk")
        assert list(events.values_list("action", flat=True)) == [
            "batch.paused_for_outage",
            "batch.resumed_after_outage",
        ]

    def test_a_refusal_by_the_server_resumes_the_batch_too(self, study, use, monkeypatch):
        monkeypatch.setattr(settings, "OUTAGE_PAUSE_SECONDS", 0)
        use(ScriptedProvider(lambda request: REFUSED_CONNECTION))
        queue = plan(study, inputs=range(20, 26))
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().awaits_server
        use(ScriptedProvider(lambda request: FLAGGED if request.user == "text 25" else ANSWER))
        self.run_again(queue)
        assert Batch.objects.get().state == "done"

    def test_a_pilot_is_probed_with_its_own_cells_and_then_waits_for_approval(self, study, use, monkeypatch):
        monkeypatch.setattr(settings, "OUTAGE_PAUSE_SECONDS", 0)
        use(ScriptedProvider(lambda request: REFUSED_CONNECTION))
        queue = plan(study, inputs=range(20, 60), pilot=6)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().awaits_server
        provider = use(ScriptedProvider())
        self.run_again(queue)
        assert Batch.objects.get().state == "waiting"
        assert len(provider.asked) == 6

    def test_a_person_who_pauses_a_batch_that_waits_for_its_server_keeps_it_paused(self, study, use, monkeypatch):
        monkeypatch.setattr(settings, "OUTAGE_PAUSE_SECONDS", 0)
        use(ScriptedProvider(lambda request: REFUSED_CONNECTION))
        queue = plan(study, inputs=range(20, 60))
        live_run.run_queue(queue.pk)
        actions.pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        batch = Batch.objects.get()
        assert (batch.state, batch.control, batch.state_reason) == ("paused", "pause", "")
        WorkQueue.objects.update(slow_until=None)
        provider = use(ScriptedProvider())
        assert statements.find_queues_to_notify() == []
        assert live_run.run_queue(queue.pk) is False
        assert provider.asked == []
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"

    def test_while_another_queue_answers_only_the_silent_one_waits(self, study, use, monkeypatch):
        monkeypatch.setattr(settings, "OUTAGE_PAUSE_SECONDS", 0)
        launching.launch_batch(
            study=study,
            kind="echo",
            title="Echo",
            arms=[
                launching.PlannedArm(make_variant(base_url=each), "task", "Say it.")
                for each in ("https://silent.example/v1", "https://other.example/v1")
            ],
            input_ids=list(range(20, 40)),
            by=trail.SYSTEM,
        )
        silent, other = WorkQueue.objects.order_by("pk")
        use(ScriptedProvider(lambda request: REFUSED_CONNECTION))
        live_run.run_queue(silent.pk)
        assert Batch.objects.get().state == "running"
        use(ScriptedProvider())
        live_run.run_queue(other.pk)
        assert Batch.objects.get().state == "running"
        use(ScriptedProvider(lambda request: REFUSED_CONNECTION))
        self.run_again(silent)
        assert Batch.objects.get().awaits_server


class TestDisk:
    def test_without_room_nothing_is_sent_and_the_batch_says_so(self, study, use, monkeypatch):
        provider = use(ScriptedProvider())
        queue = plan(study)
        full = Usage(100_000_000_000, 99_900_000_000, 100_000_000)
        monkeypatch.setattr("auditapp.batches.pure.spool.shutil.disk_usage", lambda folder: full)
        live_run.run_queue(queue.pk)
        assert provider.asked == []
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "100 MB left" in batch.state_reason
        monkeypatch.undo()

    def test_a_spool_that_cannot_be_written_stops_the_sending_and_loses_no_answer(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.005))
        queue = plan(study, inputs=range(20, 80), concurrency=5)
        flush = Spool.flush

        def fail_later(self):
            # While more is written ahead: five have left, and five wait for their slots.
            if len(provider.asked) >= 5:
                raise OSError(28, "No space left on device")
            flush(self)

        monkeypatch.setattr(Spool, "flush", fail_later)
        live_run.run_queue(queue.pk)
        batch = Batch.objects.get()
        assert batch.state == "paused"
        assert "No space left on device" in batch.state_reason
        assert Attempt.objects.filter(end="answered").count() == len(provider.asked) == Result.objects.count()
        assert set(ends()) == {"answered", "unsent"}
        assert not Cell.objects.filter(state__in=["leased", "failed"]).exists()
        monkeypatch.setattr(Spool, "flush", flush)
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"

    def test_a_spool_that_cannot_be_made_pauses_the_batch(self, study, use, monkeypatch, tmp_path):
        use(ScriptedProvider())
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "file")
        queue = plan(study)
        assert live_run.run_queue(queue.pk) is False
        assert "data folder" in Batch.objects.get().state_reason
        queue.refresh_from_db()
        assert queue.runner == ""


def fail_once_asked(provider):
    """A reading of orders that fails as soon as calls have left."""
    read = leases.poll

    def poll(queue, name):
        if provider.asked:
            raise OperationalError("the server is restarting")
        return read(queue, name)

    return poll


class TestDatabaseAway:
    def test_what_is_in_flight_is_spooled_and_nothing_more_is_sent(self, study, use, monkeypatch):
        provider = use(ScriptedProvider(takes=0.2))
        queue = plan(study, inputs=range(20, 60), concurrency=5)
        monkeypatch.setattr(live_run, "POLL_SECONDS", 0.05)
        monkeypatch.setattr(leases, "poll", fail_once_asked(provider))
        with pytest.raises(DatabaseError):
            live_run.run_queue(queue.pk)
        assert 5 <= len(provider.asked) < 40
        [path] = settings.SPOOL_FOLDER.iterdir()
        content = read_spool(path)
        assert content is not None
        assert len(content[1]) == len(content[0]) == len(provider.asked)
        assert content[0].keys() == content[1].keys()
        assert all(content[0].values())
        assert is_abandoned(path) is True
        queue.refresh_from_db()
        assert queue.runner != ""

    def test_its_calls_are_settled_from_the_spool_without_a_second_one(self, study, use, monkeypatch):
        from auditapp.batches.runner import recovery

        provider = use(ScriptedProvider(takes=0.1))
        queue = plan(study, inputs=range(20, 40), concurrency=5)
        with monkeypatch.context() as patch:
            patch.setattr(live_run, "POLL_SECONDS", 0.05)
            patch.setattr(leases, "poll", fail_once_asked(provider))
            with pytest.raises(DatabaseError):
                live_run.run_queue(queue.pk)
        assert recovery.recover_queues() == 1
        live_run.run_queue(queue.pk)
        assert Batch.objects.get().state == "done"
        assert len(provider.asked) == 20
        assert not Attempt.objects.filter(end="unknown").exists()


class Death(BaseException):
    """Stands for a kill at a crash point; the same in processes of their own is in test_faults_workers."""


def check_death(study, use, monkeypatch, *, place, nth=1):
    """A runner dies at the nth time that it comes to ``place``: what had come back is not asked for again."""
    from auditapp.batches.ledger import results
    from auditapp.batches.runner import recovery

    provider = use(ScriptedProvider())
    queue = plan(study, inputs=range(20, 30), concurrency=1)
    left = [place] * nth

    def crash_point(here):
        if here in left:
            left.remove(here)
            if not left:
                raise Death(here)

    with monkeypatch.context() as patch:
        for module in (live_run, results):
            patch.setattr(module, "crash_point", crash_point)
        with pytest.raises(Death):
            live_run.run_queue(queue.pk)
    assert left == []
    WorkQueue.objects.filter(pk=queue.pk).update(heartbeat_at=None)
    assert recovery.recover_queues() == 1
    live_run.run_queue(queue.pk)
    assert Batch.objects.get().state == "done"
    assert Result.objects.count() == len(provider.asked) == 10
    assert set(Attempt.objects.exclude(end="unsent").values_list("end", flat=True)) == {"answered"}


@pytest.mark.parametrize("place", ["after_claim", "after_spool", "in_commit", "after_commit"])
def test_a_runner_that_dies_between_claim_and_commit_loses_no_answer_and_repeats_no_call(
    study, use, monkeypatch, place
):
    """What had come back is in the spool before it is stored, so that nothing of it is asked for again."""
    check_death(study, use, monkeypatch, place=place)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200))
def test_of_two_hundred_deaths_with_an_answer_in_hand_none_repeats_a_call(study, use, monkeypatch, seed):
    chance = random.Random(seed)
    place, nth = chance.choice(["after_spool", "in_commit"]), chance.randint(1, 4)
    check_death(study, use, monkeypatch, place=place, nth=nth)


def test_a_runner_that_was_silent_for_long_sends_nothing(study, use, monkeypatch):
    provider = use(ScriptedProvider())
    monkeypatch.setattr(sending, "SILENCE_SECONDS", -1.0)
    in_writer(monkeypatch, 3, stopping.set)
    live_run.run_queue(plan(study).pk)
    assert provider.asked == []
    assert set(ends()) == {"unsent"}
