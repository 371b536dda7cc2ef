"""What becomes of the calls of a runner that is gone: its spool tells them apart, and nothing waits for ever."""

import datetime
import json

import pytest
from django.conf import settings

from auditapp.batches import kinds
from auditapp.batches.ledger import claims, leases, results
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Batch, Cell, Result, WorkQueue
from auditapp.batches.pages.progress import read_progress
from auditapp.batches.pure.spool import Spool
from auditapp.batches.runner import recovery
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import Numbers, count_states, launch

RUNNER = "there:1:gone"
ANSWER = ChatAnswer(CallOutcome.ANSWERED, content="yes", raw='{"yes": 1}', http_status=200, tokens_in=10, tokens_out=5)


@pytest.fixture(autouse=True)
def numbers(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path)
    kind = Numbers()
    monkeypatch.setitem(kinds._kinds, "numbers", kind)
    return kind


@pytest.fixture(autouse=True)
def nothing_is_broken_afterwards(db):
    yield
    assert verify_batches() == []


def take(batch, count=10, *, runner=RUNNER):
    """A runner takes the batch's queue and so many calls."""
    queue = leases.acquire_queue(batch.queues.get().pk, runner)
    assert queue is not None
    return list(claims.claim_calls(queue, runner, count).calls)


def write_spool(calls, *, sent, answered, runner=RUNNER):
    """The runner's spool: the first of its calls were sent, the first of those were answered."""
    spool = Spool(settings.SPOOL_FOLDER, runner)
    now = read_now().isoformat()
    for call in calls[:sent]:
        spool.note_sent(call.request.request_id, now)
    for call in calls[:answered]:
        spool.note_answer(call.request.request_id, ANSWER, now)
    spool.flush()
    return spool


def die(calls, *, sent, answered):
    spool = write_spool(calls, sent=sent, answered=answered)
    spool.close(keep=True)
    return spool.path


def read_ends():
    return list(Attempt.objects.order_by("pk").values_list("end", flat=True))


def be_silent(queue, *, minutes=5):
    WorkQueue.objects.filter(pk=queue.pk).update(heartbeat_at=read_now() - datetime.timedelta(minutes=minutes))


class TestDeadHere:
    def test_the_spool_tells_answered_lost_and_unsent_calls_apart(self, study, numbers):
        batch = launch(study)
        path = die(take(batch), sent=2, answered=1)
        assert recovery.settle_dead_here() == [batch.queues.get().pk]
        assert read_ends() == ["answered", "unknown", "unsent"]
        assert count_states(batch) == {"done": 1, "planned": 2}
        assert [each.answer for each in numbers.told] == ["yes"]
        assert Attempt.objects.filter(sent_at__isnull=True).count() == 1
        assert batch.queues.get().runner == ""
        assert not path.exists()

    def test_a_living_runner_is_left_alone(self, study):
        batch = launch(study)
        spool = write_spool(take(batch), sent=1, answered=1)
        assert recovery.recover_queues() == 0
        assert read_ends() == ["open"] * 3
        spool.close(keep=True)

    def test_settling_twice_changes_nothing_more(self, study):
        batch = launch(study)
        path = die(take(batch), sent=3, answered=2)
        kept = path.read_bytes()
        recovery.recover_queues()
        before = list(Attempt.objects.order_by("pk").values())
        path.write_bytes(kept)
        recovery.recover_queues()
        assert list(Attempt.objects.order_by("pk").values()) == before
        assert Cell.objects.filter(unknown_ends=1).count() == 1
        assert not path.exists()

    def test_a_line_cut_in_the_middle_makes_its_call_unknown_and_spoils_no_other(self, study):
        path = die(take(launch(study)), sent=2, answered=2)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
        recovery.recover_queues()
        assert read_ends() == ["answered", "unknown", "unsent"]

    def test_a_spool_that_cannot_be_understood_is_kept_and_holds_up_nobody(self, study):
        broken, whole = launch(study, inputs=1), launch(study, inputs=1)
        path = die(take(broken), sent=1, answered=0)
        path.write_text(json.dumps({"done": 1, "answer": "no object"}) + "\n", encoding="utf-8")
        calls = take(whole, runner="there:2:gone")
        write_spool(calls, sent=1, answered=1, runner="there:2:gone").close(keep=True)
        assert recovery.recover_queues() == 2
        assert read_ends() == ["unknown", "answered"]
        assert not path.exists()
        assert path.with_suffix(".unreadable").exists()

    def test_a_queue_that_cannot_be_settled_holds_up_no_other(self, study, monkeypatch):
        stuck, other = launch(study, inputs=1), launch(study, inputs=1)
        die(take(stuck), sent=1, answered=1)
        calls = take(other, runner="there:2:gone")
        write_spool(calls, sent=1, answered=1, runner="there:2:gone").close(keep=True)
        store = results.store_completed

        def fail(batch_id, *args, **options):
            if batch_id == stuck.pk:
                raise ValueError("poison")
            store(batch_id, *args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(results, "store_completed", fail)
            assert recovery.settle_dead_here() == [other.queues.get().pk]
        assert recovery.settle_dead_here() == [stuck.queues.get().pk]
        assert Result.objects.count() == 2


class TestPolicy:
    def test_a_call_lost_twice_is_not_sent_a_third_time(self, study):
        batch = launch(study, inputs=1)
        for _ in range(2):
            die(take(batch), sent=1, answered=0)
            recovery.recover_queues()
        assert count_states(batch) == {"failed": 1}
        assert read_ends() == ["unknown", "unknown"]

    def test_a_batch_that_holds_lost_answers_waits_for_a_person(self, study):
        batch = launch(study, inputs=2, lost_answers="hold")
        die(take(batch), sent=2, answered=1)
        recovery.recover_queues()
        assert count_states(batch) == {"done": 1, "held": 1}
        batch.refresh_from_db()
        assert batch.state == "paused"
        assert "held" in batch.state_reason

    def test_cells_of_a_cancelled_batch_are_not_planned_again(self, study):
        batch = launch(study)
        calls = take(batch)
        Batch.objects.filter(pk=batch.pk).update(state="cancelled", control="cancel")
        die(calls, sent=2, answered=1)
        recovery.recover_queues()
        assert count_states(batch) == {"done": 1, "cancelled": 2}


class TestElsewhere:
    def test_a_runner_of_another_machine_is_given_up_when_it_was_silent_for_long(self, study):
        batch = launch(study, inputs=2)
        take(batch)
        assert recovery.recover_queues() == 0
        be_silent(batch.queues.get())
        assert recovery.recover_queues() == 1
        assert read_ends() == ["unknown", "unknown"]
        assert count_states(batch) == {"planned": 2}

    def test_what_its_spool_says_is_brought_in_later_and_the_money_comes_free(self, study):
        batch = launch(study)
        calls = take(batch)
        be_silent(batch.queues.get())
        recovery.recover_queues()
        die(calls, sent=2, answered=1)
        assert recovery.recover_queues() == 0
        assert read_ends() == ["answered", "unknown", "unsent"]
        assert count_states(batch) == {"done": 1, "planned": 2}
        assert Cell.objects.filter(unknown_ends__gt=1).count() == 0
        assert list(settings.SPOOL_FOLDER.iterdir()) == []

    def test_an_answer_brought_in_after_the_cell_was_asked_again_is_no_second_result(self, study):
        batch = launch(study, inputs=1)
        calls = take(batch)
        be_silent(batch.queues.get())
        recovery.recover_queues()
        again = take(batch, runner="here:2:next")
        write_spool(again, sent=1, answered=1, runner="here:2:next").close(keep=True)
        recovery.recover_queues()
        die(calls, sent=1, answered=1)
        recovery.recover_queues()
        assert read_ends() == ["surplus", "answered"]
        assert Result.objects.get().attempt.request_id == Attempt.objects.order_by("pk")[1].request_id
        assert read_progress(batch).unknown_calls == 1, "it was paid twice, and that stays told"
        assert verify_batches() == []

    def test_a_runner_that_is_only_silent_may_have_sent_what_it_holds(self, study):
        batch = launch(study)
        spool = write_spool(take(batch), sent=2, answered=1)
        be_silent(batch.queues.get(), minutes=2)
        recovery.recover_queues()
        assert read_ends() == ["open"] * 3, "its process lives here, and may only wait for the database"
        be_silent(batch.queues.get())
        recovery.recover_queues()
        assert read_ends() == ["answered", "unknown", "unknown"]
        assert spool.path.exists()
        spool.close(keep=False)

    def test_a_runner_that_showed_life_since_it_was_found_silent_keeps_its_queue(self, study):
        batch = launch(study)
        calls = take(batch)
        be_silent(batch.queues.get())
        found = leases.find_expired_queues()[0]
        leases.beat(found, RUNNER)
        recovery.settle_runner(found)
        assert batch.queues.get().runner == RUNNER
        assert read_ends() == ["open"] * 3
        results.hand_back(batch.pk, [call.leased for call in calls])

    def test_what_another_sweeper_settled_meanwhile_is_not_settled_again(self, study):
        batch = launch(study, inputs=1)
        die(take(batch), sent=1, answered=0)
        found = batch.queues.get()
        recovery.settle_dead_here()
        before = Attempt.objects.values().get()
        again = take(batch, runner="there:2:new")
        recovery.settle_runner(found, is_dead=True)
        assert Attempt.objects.values().get(pk=before["id"]) == before
        assert batch.queues.get().runner == "there:2:new"
        results.hand_back(batch.pk, [call.leased for call in again])

    def test_a_queue_of_a_provider_s_own_batch_service_is_let_go_and_its_calls_stay(self, study):
        batch = launch(study, inputs=1)
        calls = take(batch)
        Batch.objects.filter(pk=batch.pk).update(route="jobs")
        be_silent(batch.queues.get())
        assert recovery.recover_queues() == 1
        assert read_ends() == ["open"]
        assert batch.queues.get().runner == ""
        Batch.objects.filter(pk=batch.pk).update(route="live")
        results.hand_back(batch.pk, [call.leased for call in calls])


class TestForgotten:
    """Cells that no runner holds any more; nothing in the engine leaves any."""

    def test_a_cell_whose_lease_ended_without_a_runner_is_free_again_and_its_call_unknown(self, study):
        batch = launch(study, inputs=2)
        take(batch)
        batch.queues.update(runner="", heartbeat_at=None)
        recovery.free_forgotten_cells()
        assert count_states(batch) == {"leased": 2}
        Cell.objects.update(lease_until=read_now() - datetime.timedelta(seconds=1))
        recovery.free_forgotten_cells()
        assert count_states(batch) == {"planned": 2}
        assert read_ends() == ["unknown", "unknown"]

    def test_a_cell_under_lease_that_has_no_call_is_free_again(self, study):
        batch = launch(study, inputs=1)
        ended = read_now() - datetime.timedelta(seconds=1)
        Cell.objects.update(state="leased", lease_owner="nobody", lease_until=ended, fence=1)
        assert [invariant for invariant, _, _ in verify_batches()] == ["I8"]
        recovery.free_forgotten_cells()
        assert count_states(batch) == {"planned": 1}
