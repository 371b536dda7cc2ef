"""What a worker's processes may take: so many queues, and talks beside them."""

import threading

import pytest

from auditapp.batches import kinds
from auditapp.batches.launching import LaunchOptions, PlannedArm, add_cell, launch_batch
from auditapp.batches.ledger import statements
from auditapp.batches.runner import slots, tasks
from tests.auditapp.batches.trial_kinds import Talks, launch_talks, make_variant
from transcripts.audit_trail import trail


@pytest.fixture
def two_queues():
    slots.keep_slots(2)
    yield
    slots.forget_slots()


@pytest.fixture(autouse=True)
def kind(monkeypatch):
    monkeypatch.setitem(kinds._kinds, "talks", Talks())


@pytest.mark.usefixtures("two_queues")
class TestSlots:
    def test_so_many_queues_run_at_once_and_talks_beside_them(self):
        with slots.take_queue_slot() as first, slots.take_queue_slot() as second:
            with slots.take_queue_slot() as third, slots.take_talks_slot() as beside:
                assert (first, second, third, beside) == (True, True, False, True)
            with slots.take_talks_slot() as again:
                assert again

    def test_a_slot_that_was_let_go_is_free(self):
        for _ in range(3):
            with slots.take_queue_slot() as first, slots.take_queue_slot() as second:
                assert first
                assert second


def test_without_a_worker_every_slot_is_free():
    with slots.take_talks_slot() as first, slots.take_talks_slot() as second:
        assert first
        assert second


def open_talk(study, label):
    batch = launch_batch(
        study=study,
        kind="talks",
        title="Talk",
        arms=[PlannedArm(make_variant(label), "session", "You are asked.")],
        input_ids=[],
        by=trail.SYSTEM,
        options=LaunchOptions(),
        stays_open=True,
    )
    return batch.queues.get()


def note(said, what):
    """Work that is done at once."""
    said.append(what)
    return False


class TestTalks:
    def test_talks_and_other_queues_are_found_apart(self, study):
        talk, idle = open_talk(study, "a"), open_talk(study, "b")
        add_cell(batch=talk.batch, arm=talk.batch.arms.get(), input_id=11, by=trail.SYSTEM)
        other = launch_talks(study, make_variant("c")).queues.get()
        assert statements.find_queues_to_notify(talks=True) == [talk.pk]
        assert statements.find_queues_to_notify(talks=False) == [other.pk]
        assert set(statements.find_queues_to_notify()) == {talk.pk, other.pk}
        assert idle.pk not in statements.find_queues_to_notify()

    def test_a_talk_that_begins_while_another_runs_does_not_wait_for_it(self, monkeypatch):
        looks, second_ran, in_time = [[2], []], threading.Event(), []

        def run_queue(queue_id):
            if queue_id == 2:
                second_ran.set()
            else:
                in_time.append(second_ran.wait(20))
            return False

        monkeypatch.setattr(slots, "LOOK_SECONDS", 0.01)
        monkeypatch.setattr(slots.live_run, "run_queue", run_queue)
        # Nothing new at the first look, while the first talk still runs.
        looks.insert(0, [])
        monkeypatch.setattr(slots.statements, "find_queues_to_notify", lambda talks: looks.pop(0) if looks else [])
        slots._run([1])
        assert in_time == [True]

    def test_a_message_about_a_talk_goes_to_its_own_slot(self, study, monkeypatch):
        said = []
        monkeypatch.setattr(slots, "run_talks", lambda queue_id: said.append(("talk", queue_id)))
        monkeypatch.setattr(tasks, "work_on_queue", lambda queue_id: note(said, ("queue", queue_id)))
        talk, other = open_talk(study, "a"), launch_talks(study, make_variant("c")).queues.get()
        tasks.run_queue(talk.pk)
        tasks.run_queue(other.pk)
        assert said == [("talk", talk.pk), ("queue", other.pk)]

    @pytest.mark.usefixtures("two_queues")
    def test_a_queue_for_which_no_slot_was_free_is_found_by_those_that_hold_them(self, study, monkeypatch):
        ran = []
        monkeypatch.setattr(tasks, "work_on_queue", lambda queue_id: note(ran, queue_id))
        waiting, later = [[7], [8], []], launch_talks(study, make_variant("c")).queues.get()
        monkeypatch.setattr(statements, "find_queues_to_notify", lambda **_: waiting.pop(0))
        with slots.take_queue_slot(), slots.take_queue_slot():
            tasks.run_queue(later.pk)
        assert ran == []
        tasks.run_queue(later.pk)
        assert ran == [later.pk, 7, 8]
