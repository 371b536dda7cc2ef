"""Answers are numbered in the order in which readers can see them, whoever stores them."""

import threading

import pytest
from django.db import connection, connections, transaction

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.ledger.results import store_completed
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Cell
from auditapp.batches.pages import live
from auditapp.batches.pages.live import read_answers
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.queues import ANSWER
from tests.auditapp.batches.trial_kinds import GIVEN_UP, answer, claim, finish, launch, make_variant

PATIENCE = 30


def list_numbers(batch, after=0):
    return [int(str(row["id"])) for row in read_answers(batch, after=after, visibility=EVERYTHING)]


@pytest.mark.django_db
class TestNumbers:
    def test_each_batch_counts_its_answers_from_one_without_a_gap(self, study, numbers):
        first, second = launch(study, inputs=4), launch(study, inputs=3)
        answer(first, 2)
        answer(second, 3)
        answer(first, 2)
        assert (list_numbers(first), list_numbers(second)) == ([1, 2, 3, 4], [1, 2, 3])
        assert verify_batches() == []

    def test_a_cell_without_an_answer_takes_no_number(self, study, numbers):
        batch = launch(study, inputs=3)
        finish(batch, claim(batch, 1), GIVEN_UP)
        answer(batch, 2)
        assert list_numbers(batch) == [1, 2]
        assert Cell.objects.get(state="failed").answer_number is None

    def test_a_second_answer_to_a_cell_changes_no_number(self, study, numbers):
        batch = launch(study, inputs=2)
        calls = claim(batch, 2)
        now = read_now()
        ended = [CompletedCall(call.leased, ANSWER, now, now) for call in calls]
        store_completed(batch.pk, ended)
        store_completed(batch.pk, ended)
        assert list_numbers(batch) == [1, 2]

    def test_a_result_without_a_number_is_a_break_of_the_ledger(self, study, numbers):
        batch = launch(study, inputs=2)
        answer(batch, 2)
        Cell.objects.filter(answer_number=2).update(answer_number=None)
        [(invariant, _, sentence)] = verify_batches()
        assert invariant == "I2"
        assert "no number" in sentence


@pytest.mark.django_db
class TestReading:
    @pytest.fixture(autouse=True)
    def small_parts(self, monkeypatch):
        monkeypatch.setattr(live, "READ_AT_ONCE", 2)

    def test_a_reader_goes_on_after_the_last_number_it_has(self, study, numbers):
        batch = launch(study, inputs=7)
        answer(batch, 5)
        assert list_numbers(batch, after=2) == [3, 4, 5]
        answer(batch, 2)
        assert list_numbers(batch, after=5) == [6, 7]
        assert list_numbers(batch, after=7) == []

    def test_what_is_stored_while_it_reads_comes_too(self, study, numbers):
        batch = launch(study, inputs=6)
        answer(batch, 4)
        reader = read_answers(batch, visibility=EVERYTHING)
        found = [next(reader)]
        answer(batch, 2)
        assert [row["id"] for row in [*found, *reader]] == [1, 2, 3, 4, 5, 6]

    def test_a_limit_ends_it(self, study, numbers):
        batch = launch(study, inputs=6)
        answer(batch, 6)
        found = [row["id"] for row in read_answers(batch, limit=3, visibility=EVERYTHING)]
        assert found == [1, 2, 3]

    def test_a_query_reads_a_part_by_the_index_of_numbers(self, study, numbers):
        batch = launch(study, inputs=1)
        cells = Cell.objects.filter(batch=batch, answer_number__gt=5).order_by("answer_number")
        plan = cells[:2].explain()
        if connection.vendor == "sqlite":
            assert "batches_cell_answer_number_once" in plan
            assert "TEMP B-TREE" not in plan

    def test_a_closed_batch_gives_nothing(self, study, numbers):
        batch = launch(study, inputs=2)
        answer(batch, 2)
        assert list(read_answers(batch, visibility=Visibility(is_whole=False))) == []


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite takes one writer at a time anyway")
@pytest.mark.django_db(transaction=True)
class TestSeveralWorkers:
    def test_an_answer_that_waits_to_be_committed_holds_back_those_after_it(self, study, numbers):
        """The later answer cannot be seen, with a number behind which the earlier one would then be missed."""
        batch = launch(study, inputs=2)
        early, late = claim(batch, 2)
        now = read_now()
        stored = threading.Event()

        def store_late():
            try:
                store_completed(batch.pk, [CompletedCall(late.leased, ANSWER, now, now)])
                stored.set()
            finally:
                connections.close_all()

        other = threading.Thread(target=store_late)
        with transaction.atomic():
            store_completed(batch.pk, [CompletedCall(early.leased, ANSWER, now, now)])
            other.start()
            assert not stored.wait(1)
        other.join(PATIENCE)
        rows = list(read_answers(batch, visibility=EVERYTHING))
        assert [(row["id"], row["cell"]) for row in rows] == [(1, early.leased.cell_id), (2, late.leased.cell_id)]

    def test_a_reader_by_cursor_misses_nothing_of_four_workers(self, study, numbers):
        batch = launch(study, *(make_variant(f"model {number}") for number in range(4)), inputs=40)
        calls = claim(batch, 160)
        now = read_now()

        def work(share):
            try:
                for call in calls[share::4]:
                    store_completed(batch.pk, [CompletedCall(call.leased, ANSWER, now, now)])
            finally:
                connections.close_all()

        workers = [threading.Thread(target=work, args=[share]) for share in range(4)]
        for worker in workers:
            worker.start()
        found = []
        for is_last in follow(workers):
            found += list_numbers(batch, after=found[-1] if found else 0)
            if is_last:
                break
        assert len(calls) == 160
        assert found == list(range(1, 161))


def follow(workers):
    """Whether all workers had ended before this round, again and again."""
    while True:
        yield not any(worker.is_alive() for worker in workers)
