"""What must always hold of the ledger: a sound one gives no complaint, and each break made by hand is found."""

import datetime
import json
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F

from auditapp.batches import actions, kinds
from auditapp.batches.ledger import leases
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Batch, Cell, ProviderJob, Result, WorkerSign, WorkQueue
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import GIVEN_UP, LOST, Numbers, answer, claim, finish, launch, make_variant
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

pytestmark = pytest.mark.django_db
HOUR = datetime.timedelta(hours=1)


@pytest.fixture(autouse=True)
def numbers(monkeypatch):
    monkeypatch.setitem(kinds._kinds, "numbers", Numbers())


@pytest.fixture
def batch(study):
    """Five cells: two answered, one lost, one failed, one in progress."""
    batch = launch(study, inputs=5)
    answer(batch, 2)
    finish(batch, claim(batch, 1), LOST)
    Cell.objects.filter(state="planned", unknown_ends=1).update(not_before=read_now() + HOUR)
    finish(batch, claim(batch, 1), GIVEN_UP)
    claim(batch, 1)
    assert verify_batches() == []
    return batch


def find(invariant, words):
    """The batch of the one break there is, and the sentence about it."""
    [(broken, batch, sentence)] = verify_batches()
    assert broken == invariant
    assert words in sentence
    return batch, sentence


def test_a_batch_through_all_its_states_breaks_nothing(study):
    batch = launch(study, inputs=4, pilot=2)
    assert verify_batches() == []
    answer(batch, 2)
    assert verify_batches() == []
    actions.confirm_batch(batch=batch, by=trail.SYSTEM)
    finish(batch, claim(batch, 2), LOST)
    assert verify_batches() == []
    answer(batch, 4)
    batch.refresh_from_db()
    assert batch.state == "done"
    assert verify_batches() == []
    assert verify_batches(billed=4) == verify_batches(billed=6) == []


def test_a_cancelled_batch_with_a_call_in_flight_breaks_nothing(batch):
    actions.cancel_batch(batch=batch, by=trail.SYSTEM)
    assert verify_batches() == []


class TestEnds:
    def test_a_cell_that_did_not_end_in_a_batch_that_did(self, batch):
        cell = Cell.objects.get(state="planned")
        Batch.objects.update(state="cancelled", control="cancel")
        number, sentence = find("I1", "planned or held")
        assert number == batch.pk
        assert f"({cell.pk})" in sentence

    def test_a_done_batch_with_cells_under_way(self, batch):
        Batch.objects.update(state="done")
        assert "2 cells" in find("I1", "have not ended")[1]

    def test_a_done_cell_without_a_result(self, batch):
        cell_id = Result.objects.order_by("pk")[0].pk
        Result.objects.filter(pk=cell_id).delete()
        assert f"({cell_id})" in find("I1", "without a result")[1]

    def test_a_failed_cell_without_an_outcome(self, batch):
        Cell.objects.filter(state="failed").update(outcome="")
        find("I1", "without an outcome")

    def test_a_done_cell_that_is_in_no_count(self, batch):
        Cell.objects.filter(state="done").update(outcome="")
        assert "2 cells" in find("I1", "done without an outcome")[1]


class TestResults:
    def test_a_result_of_a_cell_that_is_not_done(self, batch):
        Cell.objects.filter(pk=Result.objects.order_by("pk")[0].cell_id).update(state="cancelled")
        find("I2", "usable answer")

    def test_a_result_of_a_try_that_was_lost(self, batch):
        Result.objects.filter(pk=Result.objects.order_by("pk")[0].pk).update(attempt=Attempt.objects.get(end="unknown"))
        assert {invariant for invariant, _, _ in verify_batches()} == {"I2"}


class TestMoney:
    def test_spent_money_that_no_call_cost(self, batch):
        Batch.objects.update(spent_nano=F("spent_nano") + 1)
        assert find("I3", "nanodollars")[0] == batch.pk

    def test_reserved_money_that_no_call_holds(self, batch):
        Batch.objects.update(reserved_nano=F("reserved_nano") - 1)
        find("I3", "add up")

    @pytest.mark.parametrize(("billed", "holds"), [(1, False), (2, True), (3, True), (4, False)])
    def test_calls_that_were_charged_for(self, batch, billed, holds):
        """Two were answered, and one was lost, which may have been charged for."""
        broken = verify_batches(billed=billed)
        assert bool(broken) is not holds
        if broken:
            assert f"charged for {billed} calls; the ledger has 2 to 3" in broken[0][2]

    def test_only_calls_that_somebody_charges_for_are_compared(self, batch, study):
        """Not those of the fake provider, nor answers that came in as a file."""
        free = launch(study, make_variant("free", provider="fake", base_url="", price=None), inputs=2)
        answer(free, 2)
        from_file = launch(study, make_variant("model c", base_url="https://other.example/v1"), inputs=1)
        answer(from_file, 1)
        Attempt.objects.filter(arm__batch=from_file).update(runner="file:abc")
        assert verify_batches(billed=2) == []
        [(_, _, sentence)] = verify_batches(billed=5)
        assert "accounts counted: models.example, without the fake provider" in sentence

    def test_one_account_can_be_compared_alone(self, batch, study):
        other = launch(study, make_variant("model c", base_url="https://other.example/v1"), inputs=4)
        answer(other, 4)
        assert verify_batches(billed=4, account="other.example") == verify_batches(billed=6) == []
        assert "has 4 paid ones" in verify_batches(billed=6, account="other.example")[0][2]
        with pytest.raises(CommandError, match=r"no account 'nobody'\. There are: models\.example, other\.example"):
            call_command("batch", "verify", "--billed", "4", "--account", "nobody")
        with pytest.raises(CommandError, match="--account needs --billed"):
            call_command("batch", "verify", "--account", "other.example")

    def test_a_call_repeated_though_its_answer_was_known(self, batch):
        cell = Result.objects.order_by("pk")[0].cell
        Cell.objects.filter(pk=cell.pk).update(state="planned")
        Result.objects.filter(cell=cell).delete()
        answer(batch, 1)
        (second, _, unused), (repeated, _, again) = sorted(verify_batches())
        assert (second, repeated) == ("I2", "I4")
        assert "counted as their result" in unused
        assert f"({cell.pk})" in again

    def test_a_cap_that_was_crossed(self, batch):
        Batch.objects.update(cap_nano=F("spent_nano") + F("reserved_nano"))
        assert verify_batches() == []
        Batch.objects.update(cap_nano=F("cap_nano") - 1)
        assert find("I5", "its cap is")[0] == batch.pk


class TestTrail:
    def test_a_batch_that_nobody_launched(self, study):
        batch = Batch.objects.create(
            study=study, kind="numbers", title="x", launched_by_name="x", created_at=read_now(), state="cancelled"
        )
        assert find("I7", "the audit trail has its launch 0 times")[0] == batch.pk

    def test_an_audit_trail_that_was_changed(self, batch):
        event = AuditEvent.objects.order_by("-pk")[0]
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit_trail%'")
                for (name,) in cursor.fetchall():
                    cursor.execute(f"DROP TRIGGER {name}")
            else:
                cursor.execute("ALTER TABLE audit_trail_auditevent DISABLE TRIGGER USER")
            cursor.execute("UPDATE audit_trail_auditevent SET actor_name = 'nobody' WHERE id = %s", [event.pk])
        find("I7", "The audit trail was changed")


class TestStuck:
    def test_a_cell_under_way_without_a_call(self, batch):
        Cell.objects.filter(state="leased").update(fence=F("fence") + 1)
        assert {sentence.split(": ")[1][:9] for _, _, sentence in verify_batches()} == {"in progre", "they have"}
        assert {invariant for invariant, _, _ in verify_batches()} == {"I8"}

    def test_an_open_call_that_nobody_waits_for(self, batch):
        Cell.objects.filter(state="leased").update(state="planned", lease_until=None)
        find("I8", "no runner waits for")

    def test_an_open_call_of_a_provider_job_that_has_ended(self, batch):
        job = ProviderJob.objects.create(queue=batch.queues.get(), token=uuid.uuid4(), calls=1, written_at=read_now())
        Attempt.objects.filter(end="open").update(job=job)
        assert verify_batches() == []
        ProviderJob.objects.update(state="collected", ended_at=read_now())
        find("I8", "provider job that has ended")

    def test_a_batch_that_runs_though_all_its_cells_have_ended(self, study):
        batch = launch(study, inputs=2)
        answer(batch, 2)
        Batch.objects.update(state="running")
        assert find("I8", "no cell is left to ask")[0] == batch.pk

    def test_a_pilot_that_did_not_end_with_its_last_cell(self, study):
        batch = launch(study, inputs=4, pilot=2)
        answer(batch, 2)
        Batch.objects.update(state="pilot")
        assert find("I8", "no cell is left to ask")[0] == batch.pk

    def test_an_arm_without_a_queue(self, batch):
        WorkQueue.objects.all().delete()
        find("I8", "have no queue")

    def test_an_overdue_lease_counts_where_a_worker_had_the_time_to_mend_it(self, batch):
        Cell.objects.filter(state="leased").update(lease_until=read_now() - HOUR)
        assert verify_batches() == []
        leases.write_sign(started_at=read_now(), queues=1, problem="")
        assert verify_batches() == []
        WorkerSign.objects.update(started_at=read_now() - HOUR)
        find("I8", "more than a minute ago")

    def test_a_queue_whose_runner_is_silent_for_minutes(self, batch):
        leases.write_sign(started_at=read_now() - HOUR, queues=1, problem="")
        queue = leases.acquire_queue(batch.queues.get().pk, "here:1:aaaa")
        assert queue is not None
        assert verify_batches() == []
        WorkQueue.objects.update(heartbeat_at=read_now() - HOUR)
        find("I8", "silent for minutes")


def test_the_command_says_that_everything_holds(batch):
    said = StringIO()
    call_command("batch", "verify", stdout=said)
    assert said.getvalue() == "1 batch checked: no invariant is broken.\n"
    said = StringIO()
    call_command("batch", "verify", "--json", "--billed", "2", stdout=said)
    assert json.loads(said.getvalue()) == {"batches": 1, "breaks": []}


def test_the_command_names_what_is_broken_and_fails(batch):
    Batch.objects.update(state="done")
    said = StringIO()
    with pytest.raises(CommandError, match="1 invariant is broken"):
        call_command("batch", "verify", stdout=said)
    assert said.getvalue().startswith(f"Ends (I1): Batch {batch.pk}, 2 cells (")
    said = StringIO()
    with pytest.raises(CommandError):
        call_command("batch", "verify", "--json", stdout=said)
    [found] = json.loads(said.getvalue())["breaks"]
    assert (found["invariant"], found["batch"]) == ("I1", batch.pk)
