"""The cells of a large launch are stored by parts, and no worker sees the batch before all are there."""

import datetime
import uuid
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.db.models import F

from auditapp.batches import grids
from auditapp.batches.actions import cancel_batch, pause_batch, resume_batch
from auditapp.batches.grants import find_left
from auditapp.batches.grids import cancel_abandoned
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Batch, Cell, WorkQueue
from auditapp.llm.grants import revoke_grant, set_grant
from auditapp.llm.models import Commitment, Grant
from tests.auditapp.batches.trial_kinds import count_states, launch, make_variant
from transcripts.audit_trail import trail
from transcripts.corpus import storing
from transcripts.refusals import Refused

DOLLAR = 1_000_000_000

pytestmark = pytest.mark.django_db(transaction=True)


class Killed(BaseException):
    """The process is gone, so nothing after it is done."""


@pytest.fixture
def at_each_pause(monkeypatch):
    """Has a function called between the parts, on any database."""
    monkeypatch.setattr(grids, "SMALL_SIZE", 10)
    monkeypatch.setattr(grids, "CELLS_AT_A_TIME", {connection.vendor: 4})
    return lambda function: monkeypatch.setattr(storing, "rest", lambda _seconds: function())


@pytest.fixture
def model(numbers, study):
    model = make_variant("paid")
    set_grant(
        study=study,
        account=model.account,
        study_usd=Decimal(10),
        study_day_usd=Decimal(5),
        person_day_usd=Decimal(5),
        by=trail.SYSTEM,
    )
    return model


def launch_paid(study, model, owner, **options):
    return launch(study, model, inputs=7, by=owner, cap_usd=Decimal(2), repeats=3, **options)


def kill_at_pause(at_each_pause, monkeypatch):
    def die():
        raise Killed

    at_each_pause(die)
    monkeypatch.setattr(grids, "_give_up", lambda _batch: None)


def test_no_worker_finds_it_before_all_cells_are_there(study, owner, model, at_each_pause):
    seen = []

    def look():
        state = Batch.objects.values_list("state", flat=True).get()
        seen.append((state, Cell.objects.count(), WorkQueue.objects.count(), connection.in_atomic_block))

    at_each_pause(look)
    with transaction.atomic():
        batch = launch_paid(study, model, owner, pilot=5)
        assert not Cell.objects.exists()
    assert [cells for _, cells, _, _ in seen] == [4, 7, 11, 14, 18, 21, *[21] * (len(seen) - 6)]
    assert {(state, queues, inside) for state, _, queues, inside in seen} == {("planning", 0, False)}
    assert (batch.state, batch.state_reason, batch.queues.count()) == ("pilot", "", 1)
    rows = list(Cell.objects.order_by("pk").values_list("repeat", "input_id"))
    assert rows == [(repeat, number) for repeat in (1, 2, 3) for number in range(1, 8)]
    assert Cell.objects.filter(pilot=True).count() == 5
    assert verify_batches() == []


def test_the_same_form_sent_meanwhile_finds_the_batch(study, owner, model, at_each_pause):
    key, found = uuid.uuid4(), set()
    at_each_pause(lambda: found.add(launch_paid(study, model, owner, idempotency_key=key).pk))
    batch = launch_paid(study, model, owner, idempotency_key=key)
    assert found == {batch.pk}
    assert Cell.objects.count() == 21
    assert Commitment.objects.count() == 1


def test_a_killed_launch_keeps_its_money_until_it_is_cancelled(study, owner, model, at_each_pause, monkeypatch):
    with monkeypatch.context() as dying:
        kill_at_pause(at_each_pause, dying)
        with pytest.raises(Killed):
            launch_paid(study, model, owner)
    at_each_pause(lambda: None)
    batch = Batch.objects.get()
    assert (batch.state, count_states(batch)) == ("planning", {"planned": 4})
    assert find_left(Grant.objects.get(), owner).study == 8 * DOLLAR
    cancel_abandoned()
    batch.refresh_from_db()
    assert batch.state == "planning"
    Batch.objects.update(created_at=F("created_at") - datetime.timedelta(hours=1))
    cancel_abandoned()
    batch.refresh_from_db()
    assert (batch.state, batch.state_reason, count_states(batch)) == ("cancelled", grids.INTERRUPTED, {})
    assert find_left(Grant.objects.get(), owner).study == 10 * DOLLAR
    assert verify_batches() == []


def test_a_launch_that_wakes_up_after_it_was_given_up_stores_nothing(study, owner, model, at_each_pause):
    def sleep_long():
        at_each_pause(lambda: None)
        Batch.objects.update(created_at=F("created_at") - datetime.timedelta(hours=1))
        cancel_abandoned()

    at_each_pause(sleep_long)
    with pytest.raises(Refused, match="Nothing was asked"):
        launch_paid(study, model, owner)
    assert not Cell.objects.exists()
    assert not WorkQueue.objects.exists()


def test_it_can_be_cancelled_meanwhile_and_not_paused_or_resumed(study, owner, model, at_each_pause):
    def cancel():
        at_each_pause(lambda: None)
        batch = Batch.objects.get()
        for act in (pause_batch, resume_batch):
            with pytest.raises(Refused, match="still being stored"):
                act(batch=batch, by=owner)
        cancel_batch(batch=batch, by=owner)

    at_each_pause(cancel)
    with pytest.raises(Refused, match="cancelled before"):
        launch_paid(study, model, owner)
    batch = Batch.objects.get()
    assert (batch.state, batch.state_reason, count_states(batch)) == ("cancelled", "", {"cancelled": 4})
    assert verify_batches() == []


def test_a_grant_that_is_revoked_meanwhile_ends_it(study, owner, model, at_each_pause):
    def revoke():
        at_each_pause(lambda: None)
        revoke_grant(study=study, account=model.account, by=trail.SYSTEM)

    at_each_pause(revoke)
    with pytest.raises(Refused, match="revoked"):
        launch_paid(study, model, owner)
    batch = Batch.objects.get()
    assert (batch.state, count_states(batch), batch.queues.count()) == ("cancelled", {}, 0)


def test_a_launch_whose_grant_is_revoked_meanwhile_says_so(study, owner, model, at_each_pause):
    def revoke():
        at_each_pause(lambda: None)
        revoke_grant(study=study, account=model.account, by=trail.SYSTEM)

    at_each_pause(revoke)
    with pytest.raises(Refused) as refused:
        launch_paid(study, model, owner)
    batch = Batch.objects.get()
    assert (batch.state, batch.state_reason) == ("cancelled", f"{refused.value} Nothing was asked.")
    assert Cell.objects.count() == 0
