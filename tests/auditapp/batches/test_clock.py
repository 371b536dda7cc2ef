"""One clock for all machines: the database's."""

import dataclasses
import datetime

import pytest
from django.db import connection
from django.utils import timezone

from auditapp.batches import kinds
from auditapp.batches.ledger import leases, results, statements
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Attempt, Cell, WorkQueue
from auditapp.outbound.clock import LedgerClock, read_now
from tests.auditapp.batches.queues import BUSY, RUNNER, Echo, claim, finish, hold, plan

HOUR = datetime.timedelta(hours=1)
real_now = timezone.now


@pytest.fixture(autouse=True)
def echo(monkeypatch):
    monkeypatch.setitem(kinds._kinds, "echo", Echo())


class TestLedgerClock:
    def test_it_goes_on_by_the_monotonic_clock(self, db):
        moment = 50.0
        clock = LedgerClock(lambda: moment)
        learnt = clock.learn()
        moment = 53.5
        assert clock.now() == learnt + datetime.timedelta(seconds=3.5)
        assert clock.at(51.0) == learnt + datetime.timedelta(seconds=1)

    def test_it_is_never_behind_the_database(self, db):
        clock = LedgerClock()
        clock.learn()
        asked = read_now()
        assert clock.now() >= asked

    def test_it_must_be_learnt_first(self):
        with pytest.raises(RuntimeError):
            LedgerClock().now()


@pytest.mark.parametrize("off", [HOUR, -HOUR])
class TestMachineWithAWrongClock:
    """A worker whose clock is an hour off works beside one whose clock is right. On SQLite there is only one clock."""

    @pytest.fixture(autouse=True)
    def only_on_postgresql(self, db):
        if connection.vendor != "postgresql":
            pytest.skip("On SQLite the machine's clock is the database's.")

    @pytest.fixture(autouse=True)
    def skewed(self, monkeypatch, off):
        monkeypatch.setattr(timezone, "now", lambda: real_now() + off)

    def test_its_leases_last_as_long_as_anybody_s(self, study):
        queue = hold(plan(study))
        claim(queue)
        left = [until - real_now() for until in Cell.objects.values_list("lease_until", flat=True) if until]
        assert all(datetime.timedelta(seconds=30) < each <= datetime.timedelta(seconds=61) for each in left)
        leases.beat(queue, RUNNER)
        beat_at = WorkQueue.objects.get().heartbeat_at
        assert beat_at is not None
        assert abs(beat_at - real_now()) < datetime.timedelta(seconds=10)

    def test_it_is_not_taken_for_dead_nor_claimed_beside(self, study):
        queue = hold(plan(study))
        claim(queue)
        assert leases.find_expired_queues() == []
        assert leases.acquire_queue(queue.pk, "there:2:bbbb") is None
        assert claim(queue).calls == []

    def test_its_retries_wait_as_long_as_anybody_s(self, study):
        queue = hold(plan(study, inputs=[1]))
        sent = claim(queue)
        clock = LedgerClock()
        clock.learn()
        answer = dataclasses.replace(BUSY, retry_after=20.0)
        results.store_completed(queue.batch_id, [CompletedCall(sent.calls[0].leased, answer, clock.now(), clock.now())])
        seconds = statements.read_seconds_until_due(queue.batch, queue)
        assert seconds is not None
        assert 10 < seconds <= 20
        assert claim(queue).calls == []

    def test_what_it_writes_into_the_ledger_is_the_database_s_time(self, study):
        queue = hold(plan(study))
        results.hand_back(queue.batch_id, [call.leased for call in claim(queue).calls])
        for row in Attempt.objects.all():
            assert row.done_at is not None
            assert abs(row.written_at - real_now()) < datetime.timedelta(seconds=10)
            assert abs(row.done_at - real_now()) < datetime.timedelta(seconds=10)


def test_a_cell_that_waits_is_claimed_when_its_time_has_come(study):
    queue = hold(plan(study, inputs=[1]))
    finish(queue, claim(queue), BUSY)
    assert claim(queue).calls == []
    Cell.objects.update(not_before=read_now() - datetime.timedelta(seconds=1))
    assert len(claim(queue).calls) == 1
