"""Messages that a kind's code cannot write: single inputs fail alone, a whole arm pauses the batch, and both are told."""

import logging

import pytest
from django.db import IntegrityError, OperationalError

from auditapp.batches import actions, kinds
from auditapp.batches.kinds import NOT_STORABLE
from auditapp.batches.ledger import statements
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.batches.pages.costs import estimate_batch
from tests.auditapp.batches.queues import ANSWER, Echo, claim, finish, hold, launch, plan
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

SECRET = "what nobody is to read in a log"


class Choosy(Echo):
    """A kind whose code fails over some inputs, with an error that quotes the text."""

    def __init__(self):
        super().__init__()
        self.broken = set()
        self.error = ValueError(SECRET)

    def write_prompts(self, arm, input_ids):
        if self.broken.intersection(input_ids):
            raise self.error
        return super().write_prompts(arm, input_ids)


@pytest.fixture(autouse=True)
def kind(monkeypatch, db):
    kind = Choosy()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return kind


class Naming(Choosy):
    """A kind that stores each answer under a name, which the database takes once."""

    def store_answers(self, batch, answers):
        User.objects.bulk_create([User(username=f"answer {each.input_id}") for each in answers])
        return super().store_answers(batch, answers)


def read_outcomes():
    return dict(Cell.objects.exclude(outcome="").values_list("input_id", "outcome"))


def test_an_answer_that_the_database_refuses_to_store_fails_alone(study, monkeypatch, caplog):
    kind = Naming()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    User.objects.create(username="answer 2")
    queue = launch(study)
    with caplog.at_level(logging.ERROR):
        finish(queue, claim(queue), ANSWER)
    assert read_outcomes() == {1: "said", 2: NOT_STORABLE, 3: "said"}
    assert User.objects.filter(username__in=["answer 1", "answer 3"]).count() == 2
    whole, alone = (record.getMessage() for record in caplog.records)
    assert whole.endswith("a group of 3 answers could not be stored together")
    assert alone.endswith(f"the answer of cell {Cell.objects.get(input_id=2).pk} could not be stored")


def test_an_input_that_cannot_be_written_about_fails_alone_and_costs_nothing(study, kind, caplog):
    kind.broken = {2}
    queue = launch(study)
    with caplog.at_level(logging.ERROR):
        leased = claim(queue)
    assert [call.leased.input_id for call in leased.calls] == [1, 3]
    assert leased.settled == 1
    finish(queue, leased, ANSWER)
    assert read_outcomes() == {1: "said", 2: "not_written", 3: "said"}
    assert Batch.objects.get().state == "done"
    assert not Attempt.objects.filter(cell__input_id=2).exists()
    [told] = [record.getMessage() for record in caplog.records]
    assert "of messages about 3 cells 1 could not be written, the first about cell " in told
    assert "test_broken_inputs.py" in told
    assert SECRET not in caplog.text
    assert verify_batches() == []


def test_a_failed_statement_of_the_database_leaves_the_claim_whole(study, kind):
    """What failed inside the database must not undo what is written for the others."""

    class Doubling(Choosy):
        def write_prompts(self, arm, input_ids):
            if 2 in input_ids:
                User.objects.create(username="twice")
                User.objects.create(username="twice")
            return Echo.write_prompts(self, arm, input_ids)

    kinds._kinds[kind.name] = Doubling()
    queue = launch(study)
    assert [call.leased.input_id for call in claim(queue).calls] == [1, 3]
    assert read_outcomes() == {2: "not_written"}
    assert not User.objects.filter(username="twice").exists()


@pytest.mark.parametrize("lost", [(), (13,)])
def test_an_arm_of_which_nothing_can_be_written_pauses_the_batch_once_and_says_why(study, kind, lost, caplog):
    kind.broken = set(range(1, 6))
    queue = launch(study, inputs=[*kind.broken, *lost])
    with caplog.at_level(logging.ERROR):
        assert claim(queue).stopped
    batch = Batch.objects.get()
    assert (batch.state, batch.control) == ("paused", "pause")
    assert "The messages of task cannot be written: each of the 5 just tried" in batch.state_reason
    assert "(ValueError)" in batch.state_reason
    assert SECRET not in batch.state_reason + caplog.text
    assert set(Cell.objects.values_list("state", flat=True)) == {"planned"}
    assert not Attempt.objects.exists()
    assert statements.find_queues_to_notify() == []
    assert AuditEvent.objects.filter(action="batch.paused_by_worker").count() == 1
    kind.broken = set()
    actions.resume_batch(batch=batch, by=trail.SYSTEM)
    assert len(claim(queue).calls) == 5


def test_where_few_are_left_they_fail_one_by_one_and_the_batch_comes_to_its_end(study, kind):
    kind.broken = {1, 2, 3, 4}
    queue = launch(study, inputs=sorted(kind.broken))
    assert claim(queue).settled == 4
    assert set(read_outcomes().values()) == {"not_written"}
    assert Batch.objects.get().state == "done"
    kind.broken = set()
    actions.retry_failed(batch=Batch.objects.get(), by=trail.SYSTEM)
    assert len(claim(queue).calls) == 4


def test_a_database_that_is_away_is_no_fault_of_an_input(study, kind):
    kind.broken, kind.error = {2}, OperationalError("away")
    queue = launch(study)
    with pytest.raises(OperationalError):
        claim(queue)
    kind.error = IntegrityError("of this input")
    assert len(claim(queue).calls) == 2


def test_an_estimate_leaves_out_what_cannot_be_written(study, kind):
    queue = hold(plan(study, inputs=range(20, 30)))
    whole = estimate_batch(queue.batch)["high"]
    kind.broken = {21}
    partly = estimate_batch(queue.batch)["high"]
    assert whole is not None
    assert partly is not None
    assert 0 < partly < whole
