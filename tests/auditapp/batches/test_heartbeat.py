"""The heartbeat of a worker, its ticks, its doorbell and what is read of the workers."""

import datetime
import os
import socket
import threading
import time
import uuid
from io import StringIO

import pytest
from celery.worker import state as celery_state
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from kombu import Connection

from auditapp.batches import command_options, kinds
from auditapp.batches.ledger import leases
from auditapp.batches.models import Batch, Tick, WorkerSign
from auditapp.batches.pure import spool
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run
from auditapp.batches.runner import recovery, tasks, worker_process
from auditapp.batches.runner.recovery import take_tick
from auditapp.batches.runner.worker_process import Hearing, Heartbeat
from auditapp.celery import app as celery_app
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import Numbers, launch
from tests.support.instance import PATIENCE

pytestmark = pytest.mark.django_db
MINUTE = datetime.timedelta(minutes=1)


def note_in(calls):
    """A function that only notes with which options it was called, and says yes."""

    def note(*arguments, **options):
        calls.append(options)
        return True

    return note


@pytest.fixture(autouse=True)
def notified(monkeypatch):
    """The queues that were notified, in place of a broker."""
    notified = []

    def hear(queue_ids):
        notified.extend(queue_ids)
        return True

    monkeypatch.setattr(tasks, "notify_queues", hear)
    monkeypatch.setattr(tasks, "count_waiting_messages", lambda: 0)
    monkeypatch.setitem(kinds._kinds, "numbers", Numbers())
    return notified


@pytest.fixture
def connections_stay(monkeypatch):
    """A beat closes its connections; in a test it would close the test's own."""
    monkeypatch.setattr(connections, "close_all", lambda: None)


@pytest.fixture
def stopped():
    stopping.set()
    yield
    stopping.clear()


class TestTicks:
    def test_a_tick_is_taken_once_until_its_time_has_come_again(self):
        assert take_tick("sweep", every=5) is not None
        assert take_tick("sweep", every=5) is None
        Tick.objects.update(at=read_now() - datetime.timedelta(seconds=6))
        pause = take_tick("sweep", every=5)
        assert pause is not None
        assert 6 <= pause.total_seconds() < 60
        assert take_tick("sweep", every=5) is None

    def test_a_clock_that_was_set_back_does_not_keep_everybody_waiting(self):
        take_tick("sweep", every=5)
        Tick.objects.update(at=read_now() + datetime.timedelta(hours=1))
        assert take_tick("sweep", every=5) is not None
        assert take_tick("sweep", every=5) is None

    def test_two_beats_and_a_heartbeat_sweep_once(self, monkeypatch):
        swept = []
        monkeypatch.setattr(recovery, "recover_queues", note_in(swept))
        for _ in range(3):
            tasks.sweep()
        assert len(swept) == 1

    @pytest.mark.parametrize(("pause", "told"), [(6, True), (30, False)])
    def test_after_a_pause_of_everybody_trust_silence_nothing_of_a_runner(self, monkeypatch, pause, told):
        """The database was away, or the machine slept: those that live had no way to say so."""
        asked = []
        monkeypatch.setattr(recovery, "recover_queues", note_in(asked))
        Tick.objects.create(name="sweep", at=read_now() - datetime.timedelta(seconds=pause))
        tasks.sweep()
        assert asked == [{"trust_silence": told}]


@pytest.mark.usefixtures("connections_stay")
class TestPulse:
    def test_a_beat_shows_that_the_worker_lives_and_sweeps(self, study, notified):
        batch = launch(study)
        Heartbeat(queues=3).beat()
        [worker] = leases.read_workers()
        assert (worker.name, worker.alive, worker.queues, worker.problem) == (
            f"{socket.gethostname()}:{os.getpid()}",
            True,
            3,
            "",
        )
        assert worker.started_at is not None
        assert notified == [batch.queues.get().pk]
        assert leases.is_worker_alive()

    def test_a_worker_that_has_ended_gives_no_sign_of_life(self):
        own = Heartbeat(queues=3)
        WorkerSign.objects.create(name="elsewhere:1", seen_at=read_now(), queues=2)
        own.beat()
        own.end()
        own.run()
        assert [each.name for each in leases.read_workers()] == ["elsewhere:1"]
        with pytest.raises(CommandError, match="No worker on this machine"):
            call_command("worker", "--check")

    def test_a_worker_may_leave_the_sweeping_to_others(self, study, notified):
        launch(study)
        Heartbeat(queues=1, sweeps=False).beat()
        assert notified == []
        assert leases.is_worker_alive()

    @pytest.mark.usefixtures("stopped")
    def test_a_worker_that_is_told_to_end_notifies_nobody(self, study, notified):
        launch(study)
        Heartbeat(queues=1).beat()
        assert notified == []

    def test_an_outage_of_the_database_is_told_once_and_survived(self, monkeypatch, caplog):
        beating = Heartbeat(queues=1)

        def refuse(**sign):
            raise OperationalError("away")

        with monkeypatch.context() as patch:
            patch.setattr(leases, "write_sign", refuse)
            for _ in range(3):
                beating.beat()
        beating.beat()
        said = [record.getMessage() for record in caplog.records if record.name == worker_process.__name__]
        assert said == [
            "The database cannot be reached (OperationalError); trying again until it can.",
            "The database answers again.",
        ]
        assert leases.is_worker_alive()

    def test_a_failing_beat_is_told_and_the_next_one_comes(self, monkeypatch, caplog):
        def fail(**options):
            raise RuntimeError("a bug")

        monkeypatch.setattr(recovery, "recover_queues", fail)
        Heartbeat(queues=1).beat()
        assert "A beat of the worker's heartbeat failed" in caplog.text

    def test_a_full_disk_is_told_and_no_queue_is_taken(self, study, monkeypatch):
        queue = launch(study).queues.get()
        monkeypatch.setattr(spool, "MIN_FREE_BYTES", 2**80)
        monkeypatch.setattr(spool, "MIN_FREE_SHARE", 2.0)
        Heartbeat(queues=1).beat()
        assert leases.read_workers()[0].problem == leases.DISK_FULL
        tasks.run_queue(queue.pk)
        assert queue.batch.cells.filter(state="planned").count() == 3
        with pytest.raises(CommandError, match="nearly full"):
            call_command("worker", "--check")


class TestForks:
    def test_whoever_forks_waits_for_the_beat_under_way(self, monkeypatch):
        order = []

        def fork():
            worker_process._before_fork()
            order.append("fork")
            worker_process.fork_lock.release()

        with worker_process.fork_lock:
            forking = threading.Thread(target=fork)
            forking.start()
            time.sleep(0.05)
            order.append("beat")
        forking.join()
        assert order == ["beat", "fork"]


class TestHearing:
    """A worker that hears nothing any more: messages wait while it has a free queue."""

    @pytest.fixture
    def clock(self, monkeypatch):
        monkeypatch.setattr(tasks, "count_waiting_messages", lambda: 2)
        return [0.0]

    def test_messages_that_wait_before_a_free_queue_for_a_minute_are_not_heard(self, clock):
        hearing = Hearing(lambda: clock[0])
        assert not hearing.is_lost(queues=1)
        clock[0] = 59.0
        assert not hearing.is_lost(queues=1)
        clock[0] = 60.0
        assert hearing.is_lost(queues=1)

    def test_a_queue_that_was_empty_in_between_is_heard(self, clock, monkeypatch):
        hearing = Hearing(lambda: clock[0])
        hearing.is_lost(queues=1)
        clock[0] = 30.0
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "count_waiting_messages", lambda: 0)
            hearing.is_lost(queues=1)
        clock[0] = 61.0
        assert not hearing.is_lost(queues=1)

    def test_messages_may_wait_while_every_queue_is_busy(self, clock, monkeypatch):
        monkeypatch.setattr(celery_state, "active_requests", {"a request"})
        hearing = Hearing(lambda: clock[0])
        hearing.is_lost(queues=1)
        clock[0] = 600.0
        assert not hearing.is_lost(queues=1)

    @pytest.mark.usefixtures("connections_stay")
    def test_a_deaf_worker_ends_itself(self, monkeypatch):
        said = []
        beating = Heartbeat(queues=1, end_worker=said.append)
        monkeypatch.setattr(beating.hearing, "is_lost", lambda **_: True)
        beating.beat()
        assert said == ["Messages wait, and this worker receives none of them"]


class TestWorkers:
    def test_a_silent_worker_is_told_with_when_it_was_heard_last_and_forgotten_after_a_day(self):
        now = read_now()
        WorkerSign.objects.create(name="here:1", seen_at=now - MINUTE, queues=2)
        WorkerSign.objects.create(name="there:1", seen_at=now - datetime.timedelta(days=2), queues=2)
        assert not leases.is_worker_alive()
        leases.forget_old_signs()
        [worker] = leases.read_workers()
        assert (worker.name, worker.alive, worker.seen_at) == ("here:1", False, now - MINUTE)

    def test_a_sign_is_one_row_however_often_it_is_given(self):
        for queues in (1, 2):
            leases.write_sign(started_at=read_now(), queues=queues, problem="")
        assert WorkerSign.objects.get().queues == 2

    def test_the_check_asks_for_a_worker_of_this_very_machine(self):
        WorkerSign.objects.create(name="elsewhere:1", seen_at=read_now(), queues=2)
        with pytest.raises(CommandError, match="No worker on this machine"):
            call_command("worker", "--check")
        leases.write_sign(started_at=read_now(), queues=2, problem="")
        said = StringIO()
        call_command("worker", "--check", stdout=said)
        assert "is running on this machine" in said.getvalue()


class TestDoorbell:
    @pytest.fixture(autouse=True)
    def real_doorbell(self, monkeypatch):
        monkeypatch.undo()
        yield
        tasks._Broker.away_until, tasks._Broker.is_away = 0.0, False

    @pytest.fixture
    def no_broker(self, monkeypatch):
        """A Redis at a port where nobody listens, and nobody may meanwhile; each connection that was asked for."""
        asked = []
        connect = celery_app.connection_for_write
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            url = f"redis://127.0.0.1:{held.getsockname()[1]}/0"

            def connect_there(**options):
                asked.append(options)
                return connect(url=url, **options)

            monkeypatch.setattr(celery_app, "connection_for_write", connect_there)
            yield asked

    def test_a_broker_that_is_away_is_given_up_at_once_and_left_in_peace_for_a_while(
        self, no_broker, monkeypatch, caplog
    ):
        monkeypatch.setattr(tasks, "AWAY_SECONDS", 600.0)
        assert tasks.count_waiting_messages() == 0
        tasks._Broker.away_until = 0.0
        assert not any(tasks.notify_queue(queue) for queue in range(20))
        assert tasks.count_waiting_messages() == 0
        # Celery makes one besides, without options, for a pool that is never used.
        tried = [options for options in no_broker if options]
        assert tried == [{"connect_timeout": tasks.NOTIFY_SECONDS, "transport_options": tasks.AT_ONCE}] * 2
        assert tasks.AT_ONCE["max_retries"] == 0
        assert len([record for record in caplog.records if "cannot be reached" in record.getMessage()]) == 1

    def test_a_message_waits_until_a_worker_takes_it(self):
        before = tasks.count_waiting_messages()
        assert tasks.notify_queue(10**9)
        assert tasks.count_waiting_messages() == before + 1
        with tasks.connect_at_once() as connection:
            connection.SimpleQueue(tasks.WORK).get(block=True, timeout=PATIENCE).ack()

    def test_where_as_many_messages_wait_as_queues_nothing_more_is_notified(self, study, monkeypatch):
        monkeypatch.setitem(kinds._kinds, "numbers", Numbers())
        launch(study)
        notified = []
        monkeypatch.setattr(tasks, "notify_queues", note_in(notified))
        for waiting_messages in (1, 0):
            monkeypatch.setattr(tasks, "count_waiting_messages", lambda count=waiting_messages: count)
            tasks.notify_idle_queues()
        assert len(notified) == 1


class TestRunLane:
    """While nobody hears the doorbell, a queue is worked on where it is."""

    def test_a_queue_that_cannot_be_rung_is_worked_on_again(self, study, monkeypatch):
        queue = launch(study).queues.get()
        stays = []
        heard = iter([False, False, True])
        monkeypatch.setattr(live_run, "run_queue", note_in(stays))
        monkeypatch.setattr(tasks, "notify_queue", lambda queue_id: next(heard))
        tasks.run_queue(queue.pk)
        assert len(stays) == 3

    @pytest.mark.usefixtures("stopped")
    def test_a_worker_that_ends_neither_stays_nor_rings(self, study, monkeypatch, notified):
        queue = launch(study).queues.get()
        monkeypatch.setattr(live_run, "run_queue", lambda queue_id: True)
        tasks.run_queue(queue.pk)
        assert notified == []

    def test_a_batch_whose_answers_are_brought_in_as_a_file_is_nobody_s_work(self, study):
        batch = launch(study)
        Batch.objects.update(route="file")
        assert not tasks.work_on_queue(batch.queues.get().pk)


def test_waiting_ends_where_the_batch_does_nothing_more_by_itself(study):
    batch = launch(study)
    for state in ("waiting", "paused", "done", "cancelled"):
        Batch.objects.update(state=state, control="pause")
        assert command_options.wait_for_batch(batch, report=lambda line: None).state == state


def test_waiting_outlasts_a_server_that_does_not_answer(study, monkeypatch):
    lines = []
    batch = launch(study)
    monkeypatch.setattr(command_options, "is_worker_alive", lambda: True)
    Batch.objects.update(state="paused", control="run", state_reason="The server does not answer.")
    states = iter(["running", "done"])
    monkeypatch.setattr(
        "auditapp.batches.command_options.time.sleep", lambda seconds: Batch.objects.update(state=next(states))
    )
    assert command_options.wait_for_batch(batch, report=lines.append).state == "done"
    assert lines == ["The server does not answer.", "The server answers again."]


class TestFileBroker:
    """The broker of a laptop: files, which several processes write and read."""

    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path

    @pytest.fixture
    def name(self):
        """A queue of its own: kombu remembers for the whole process which it has bound."""
        return f"queues-{uuid.uuid4().hex}"

    @pytest.fixture
    def connection(self, folder):
        options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder / "c")}
        with Connection("filesystem://localhost", transport_options=options) as connection:
            yield connection

    def test_a_message_comes_out_once_and_as_it_went_in(self, connection, folder, name):
        queue = connection.SimpleQueue(name)
        queue.put({"queue": 7})
        message = queue.get(block=True, timeout=PATIENCE)
        message.ack()
        assert message.payload == {"queue": 7}
        with pytest.raises(queue.Empty):
            queue.get(block=False)
        assert [path.name for path in folder.iterdir() if path.is_file()] == []

    @pytest.mark.parametrize("damaged", ["", '{"body": '])
    def test_a_damaged_message_is_left_out_and_the_next_one_comes(self, connection, folder, name, damaged):
        (folder / f"0_damaged.{name}.msg").write_text(damaged, encoding="utf-8")
        queue = connection.SimpleQueue(name)
        queue.put({"queue": 7})
        assert queue.get(block=True, timeout=PATIENCE).payload == {"queue": 7}

    def test_an_exchange_whose_file_is_being_written_has_no_queues_yet(self, connection, folder, name):
        queue = connection.SimpleQueue(name)
        (folder / "c" / f"{name}.exchange").write_text("", encoding="utf-8")
        assert queue.channel.get_table(name) == []
