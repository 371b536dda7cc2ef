import datetime
import json
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from auditapp.batches import actions, kinds
from auditapp.batches.models import Attempt, Batch, Cell, Result, WorkQueue
from auditapp.batches.runner import tasks
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from tests.auditapp.batches.trial_kinds import (
    GIVEN_UP,
    LOST,
    Numbers,
    answer,
    claim,
    count_states,
    finish,
    launch,
    make_variant,
)
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

pytestmark = pytest.mark.usefixtures("numbers", "without_grants")


def find_events(batch):
    events = AuditEvent.objects.filter(target=f"batches.batch:{batch.pk}").order_by("sequence")
    return list(events.values_list("action", flat=True))[1:]


def stands(batch):
    batch.refresh_from_db()
    return batch.state, batch.control


@pytest.fixture
def notified(monkeypatch):
    """The queues that were notified, as soon as they would be."""
    notified = []
    monkeypatch.setattr(tasks, "notify_queue", notified.append)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda told: told())
    return notified


class TestNaming:
    def test_a_batch_is_called_as_people_call_it_also_when_it_has_ended(self, study, lead):
        batch = launch(study, inputs=1, name="  First try,\n with thinking ")
        assert batch.title == "First try, with thinking"
        actions.cancel_batch(batch=batch, by=lead)
        actions.rename_batch(batch=batch, name="Pilot of May", by=lead)
        actions.rename_batch(batch=batch, name="Pilot of May", by=lead)
        assert Batch.objects.get().title == "Pilot of May"
        event = AuditEvent.objects.get(action="batch.renamed")
        assert event.details == {"before": "First try, with thinking", "after": "Pilot of May"}

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("", "needs a name"),
            (" \n ", "needs a name"),
            ("x" * 201, "201 characters"),
            ("to\x07ll", "cannot be shown"),
        ],
    )
    def test_what_is_no_name_is_refused(self, study, lead, name, said):
        batch = launch(study, inputs=1)
        before = batch.title
        with pytest.raises(Refused, match=said):
            actions.rename_batch(batch=batch, name=name, by=lead)
        assert Batch.objects.get().title == before

    def test_its_page_renames_it_and_says_what_is_wrong(self, study, lead, client_of):
        batch = launch(study, inputs=1)
        address = reverse("batches:rename", args=[study.slug, batch.pk])
        client = client_of(lead)
        wrong = client.post(address, {"named-name": "x" * 201})
        assert wrong.status_code == 422
        assert "it can have 200" in wrong.content.decode()
        page = client.post(address, {"named-name": "<b>Mine</b>"}, follow=True).content.decode()
        assert f"Batch {batch.pk} · &lt;b&gt;Mine&lt;/b&gt;" in page


class TestSteering:
    def test_a_paused_batch_gives_out_no_call_and_stores_those_in_flight(self, study, lead):
        batch = launch(study, inputs=3)
        calls = claim(batch, 1)
        actions.pause_batch(batch=batch, by=lead)
        assert (batch.state, batch.control) == ("paused", "pause")
        assert claim(batch, 5) == []
        finish(batch, calls, ChatAnswer(CallOutcome.ANSWERED, content="yes", tokens_in=1, tokens_out=1))
        assert Result.objects.count() == 1
        assert find_events(batch) == ["batch.paused"]

    def test_pausing_twice_is_no_error_and_one_event(self, study):
        batch = launch(study)
        stale = Batch.objects.get(pk=batch.pk)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        actions.pause_batch(batch=stale, by=trail.SYSTEM)
        assert stale.state == "paused"
        assert find_events(batch) == ["batch.paused"]

    def test_a_resumed_batch_goes_on_and_its_queues_are_notified(self, study, notified):
        batch = launch(study)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        notified.clear()
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert (batch.state, batch.control, batch.state_reason) == ("running", "run", "")
        assert notified == [batch.queues.get().pk]
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert find_events(batch) == ["batch.paused", "batch.resumed"]

    def test_a_batch_whose_key_was_revoked_goes_on_after_resume(self, study):
        batch = launch(study)
        revoked = ChatAnswer(
            CallOutcome.REFUSED,
            NextStep.STOP_BATCH,
            http_status=401,
            error_class=ErrorClass.ACCOUNT,
            error="no such key",
        )
        finish(batch, claim(batch, 1), revoked)
        assert stands(batch) == ("paused", "pause")
        assert batch.state_reason
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert len(answer(batch, 5)) == 3
        assert stands(batch)[0] == "done"

    def test_a_batch_that_its_cap_paused_goes_on_under_a_higher_one(self, study):
        batch = launch(study, cap_usd=Decimal("0.000001"))
        assert claim(batch, 3) == []
        Batch.objects.filter(pk=batch.pk).update(state="paused", control="pause", state_reason="the cap")
        actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)
        assert batch.state == "paused"
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert len(claim(batch, 3)) == 3

    def test_a_draining_batch_begins_no_new_cell_and_pauses_when_those_begun_ended(self, study):
        batch = launch(study, inputs=3)
        calls = claim(batch, 1)
        actions.drain_batch(batch=batch, by=trail.SYSTEM)
        assert stands(batch) == ("running", "drain")
        assert claim(batch, 5) == []
        finish(batch, calls, ChatAnswer(CallOutcome.ANSWERED, content="yes", tokens_in=1, tokens_out=1))
        assert stands(batch) == ("paused", "pause")
        assert "drained" in batch.state_reason
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert stands(batch) == ("running", "run")

    def test_draining_a_batch_in_which_nothing_is_begun_pauses_it_at_once(self, study):
        batch = launch(study)
        actions.drain_batch(batch=batch, by=trail.SYSTEM)
        assert (batch.state, batch.control) == ("paused", "pause")

    def test_resume_ends_a_drain(self, study):
        batch = launch(study)
        claim(batch, 1)
        actions.drain_batch(batch=batch, by=trail.SYSTEM)
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert (batch.state, batch.control) == ("running", "run")
        assert len(claim(batch, 5)) == 2

    def test_cancelling_keeps_what_arrives_and_frees_nothing_again(self, study):
        batch = launch(study, inputs=3)
        calls = claim(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        assert (batch.state, batch.control) == ("cancelled", "cancel")
        assert batch.finished_at is not None
        assert count_states(batch) == {"leased": 1, "cancelled": 2}
        finish(batch, calls, ChatAnswer(CallOutcome.ANSWERED, content="yes", tokens_in=1, tokens_out=1))
        assert count_states(batch) == {"done": 1, "cancelled": 2}
        assert claim(batch, 5) == []

    def test_a_cancelled_batch_can_still_be_cut_off(self, study):
        batch = launch(study)
        claim(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM, cut_off=True)
        assert (batch.state, batch.control) == ("cancelled", "abort")
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        assert batch.control == "abort"
        assert find_events(batch) == ["batch.cancelled", "batch.aborted"]

    @pytest.mark.parametrize(
        "act",
        [
            actions.pause_batch,
            actions.resume_batch,
            actions.drain_batch,
            actions.cancel_batch,
            actions.confirm_batch,
        ],
    )
    def test_a_batch_that_is_done_cannot_be_steered(self, study, act):
        batch = launch(study, inputs=1)
        answer(batch, 1)
        assert stands(batch)[0] == "done"
        with pytest.raises(Refused, match=rf"Batch {batch.pk} has ended \(done\)"):
            act(batch=batch, by=trail.SYSTEM)
        assert stands(batch)[0] == "done"

    def test_calls_in_flight_can_be_more_or_fewer(self, study):
        batch = launch(study)
        actions.change_concurrency(batch=batch, concurrency=80, by=trail.SYSTEM)
        actions.change_concurrency(batch=batch, concurrency=80, by=trail.SYSTEM)
        assert batch.concurrency == 80
        [event] = AuditEvent.objects.filter(action="batch.concurrency_changed")
        assert event.details == {"before": 30, "after": 80}
        with pytest.raises(Refused, match=r"between 1 and 1,000"):
            actions.change_concurrency(batch=batch, concurrency=0, by=trail.SYSTEM)


class TestPilot:
    @pytest.fixture
    def waiting(self, study):
        """A batch whose pilot of two has ended, with eight cells to go."""
        batch = launch(study, inputs=10, pilot=2)
        answer(batch, 2)
        assert batch.state == "waiting"
        return batch

    def test_a_yes_sends_the_rest(self, waiting, lead, notified):
        actions.confirm_batch(batch=waiting, by=lead)
        assert (waiting.state, waiting.control, waiting.confirmed_by_name) == ("running", "run", "lead")
        assert waiting.confirmed_at is not None
        assert notified == [waiting.queues.get().pk]
        assert len(claim(waiting, 20)) == 8

    def test_a_yes_said_twice_counts_once(self, waiting, lead, coder):
        actions.confirm_batch(batch=waiting, by=lead)
        actions.confirm_batch(batch=waiting, by=coder, cap_usd=Decimal(5))
        assert waiting.confirmed_by_name == "lead"
        assert waiting.cap_nano is None
        assert find_events(waiting).count("batch.confirmed") == 1

    def test_a_yes_can_bring_a_cap(self, waiting):
        actions.confirm_batch(batch=waiting, by=trail.SYSTEM, cap_usd=Decimal("0.5"))
        assert waiting.cap_nano == 500_000_000

    def test_a_cap_below_what_the_pilot_spent_is_refused_with_the_figures(self, waiting):
        assert waiting.spent_nano == 40_000
        with pytest.raises(Refused, match=r"\$0\.000040 is spent.*at least \$0\.01"):
            actions.confirm_batch(batch=waiting, by=trail.SYSTEM, cap_usd=Decimal("0.00003"))
        assert stands(waiting)[0] == "waiting"

    def test_a_pilot_of_which_nothing_can_be_read_needs_a_decision_of_its_own(self, study, lead, client, monkeypatch):
        monkeypatch.setattr(Numbers, "unreadable", {"said"})
        batch = launch(study, inputs=10, pilot=2)
        answer(batch, 2)
        assert stands(batch)[0] == "waiting"
        assert "Nothing could be read in any of the 2 answers of the pilot." in batch.state_reason
        with pytest.raises(Refused, match="Nothing could be read"):
            actions.confirm_batch(batch=batch, by=trail.SYSTEM)
        with pytest.raises(CommandError, match="--anyway"):
            call_command("batch", "confirm", str(batch.pk))
        client.force_login(lead)
        address = reverse("batches:confirm", args=[study.slug, batch.pk])
        refused = client.post(address, {"confirm-cap": ""})
        assert refused.status_code == 422
        assert "Send the rest anyway, although nothing could be read" in refused.content.decode()
        assert stands(batch)[0] == "waiting"
        assert client.post(address, {"confirm-cap": "", "confirm-anyway": "on"}).status_code == 302
        batch.refresh_from_db()
        assert stands(batch)[0] == "running"
        assert AuditEvent.objects.get(action="batch.confirmed").details["although_unreadable"] is True

    def test_one_readable_answer_is_enough_and_failed_cells_say_nothing(self, study, monkeypatch):
        monkeypatch.setattr(Numbers, "unreadable", {"said"})
        read = launch(study, inputs=10, pilot=2)
        answer(read, 1)
        monkeypatch.setattr(Numbers, "unreadable", ())
        answer(read, 1)
        failed = launch(study, inputs=10, pilot=2)
        finish(failed, claim(failed, 2), GIVEN_UP)
        for batch in (read, failed):
            assert (batch.state, batch.state_reason) == ("waiting", "")

    @pytest.mark.parametrize(
        ("kind", "unreadable"),
        [
            ("sob", {"off_format", "truncated", "empty"}),
            ("preannotation", {"invalid"}),
            ("preannotation_check", {"invalid"}),
            ("preannotation_critic", {"invalid"}),
            ("sob_format", {"unreadable", "invented_value", "no_evidence"}),
        ],
    )
    def test_the_features_say_which_of_their_outcomes_are_unreadable(self, kind, unreadable):
        assert set(kinds.get_kind(kind).unreadable) == unreadable

    def test_nothing_but_a_yes_or_a_cancel_moves_a_batch_that_waits(self, waiting):
        with pytest.raises(Refused, match="Confirm or cancel it"):
            actions.resume_batch(batch=waiting, by=trail.SYSTEM)
        with pytest.raises(Refused, match="waiting for approval"):
            actions.drain_batch(batch=waiting, by=trail.SYSTEM)
        actions.pause_batch(batch=waiting, by=trail.SYSTEM)
        assert stands(waiting) == ("waiting", "pause")
        actions.cancel_batch(batch=waiting, by=trail.SYSTEM)
        assert count_states(waiting) == {"done": 2, "cancelled": 8}

    def test_a_pilot_under_way_cannot_be_confirmed(self, study):
        batch = launch(study, inputs=10, pilot=2)
        with pytest.raises(Refused, match="pilot has not ended"):
            actions.confirm_batch(batch=batch, by=trail.SYSTEM)

    def test_a_pilot_that_was_paused_goes_on_as_a_pilot(self, study):
        batch = launch(study, inputs=10, pilot=2)
        answer(batch, 1)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert batch.state == "pilot"
        answer(batch, 10)
        assert batch.state == "waiting"

    def test_a_pilot_that_ended_while_paused_waits_after_resume(self, study):
        batch = launch(study, inputs=10, pilot=2)
        calls = claim(batch, 2)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        finish(batch, calls, ChatAnswer(CallOutcome.ANSWERED, content="yes", tokens_in=1, tokens_out=1))
        assert batch.state == "paused"
        actions.resume_batch(batch=batch, by=trail.SYSTEM)
        assert (batch.state, batch.control) == ("waiting", "pause")

    def test_failed_cells_of_a_pilot_are_asked_again_as_its_pilot(self, study):
        batch = launch(study, inputs=10, pilot=2)
        finish(batch, claim(batch, 2), GIVEN_UP)
        assert batch.state == "waiting"
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 2
        assert batch.state == "pilot"
        assert len(answer(batch, 10)) == 2
        assert batch.state == "waiting"


class TestCap:
    def test_a_cap_below_what_is_spent_and_reserved_is_refused(self, study):
        batch = launch(study, cap_usd=Decimal(1))
        answer(batch, 1)
        claim(batch, 1)
        batch.refresh_from_db()
        gone = batch.spent_nano + batch.reserved_nano
        assert batch.reserved_nano > 0
        below = Decimal(gone - 1) / 10**9
        with pytest.raises(Refused, match=r"is spent, and \$0\.\d+ is reserved"):
            actions.change_cap(batch=batch, cap_usd=below, by=trail.SYSTEM)
        actions.change_cap(batch=batch, cap_usd=Decimal(gone) / 10**9, by=trail.SYSTEM)
        assert batch.cap_nano == gone
        assert claim(batch, 1) == []

    def test_a_changed_cap_is_an_event_in_whole_nanodollars(self, study):
        batch = launch(study)
        actions.change_cap(batch=batch, cap_usd=Decimal("2.50"), by=trail.SYSTEM)
        actions.change_cap(batch=batch, cap_usd=Decimal("2.5"), by=trail.SYSTEM)
        actions.change_cap(batch=batch, cap_usd=None, by=trail.SYSTEM)
        events = AuditEvent.objects.filter(action="batch.cap_changed").order_by("sequence")
        assert [event.details for event in events] == [
            {"before_nano": None, "after_nano": 2_500_000_000},
            {"before_nano": 2_500_000_000, "after_nano": None},
        ]

    def test_a_cap_needs_prices(self, study):
        batch = launch(study, make_variant("dear", price=None))
        with pytest.raises(Refused, match="have none: dear"):
            actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)


class TestFailedAndHeld:
    def test_failed_cells_of_a_batch_that_is_done_are_asked_again(self, study, numbers, notified):
        batch = launch(study, inputs=3)
        answer(batch, 1)
        finish(batch, claim(batch, 2), GIVEN_UP)
        assert batch.state == "done"
        failed = list(Cell.objects.filter(batch=batch, state="failed").order_by("pk").values_list("pk", flat=True))
        notified.clear()
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 2
        assert (batch.state, batch.control, batch.finished_at) == ("running", "run", None)
        assert numbers.reopened == failed
        again = Cell.objects.filter(pk__in=failed).values_list(
            "state", "outcome", "tries", "unknown_ends", "not_before"
        )
        assert set(again) == {("planned", "", 0, 0, None)}
        assert notified == [batch.queues.get().pk]
        assert len(answer(batch, 5)) == 2
        assert stands(batch)[0] == "done"
        # The tries that failed stay in the ledger.
        assert Attempt.objects.filter(cell__in=failed).count() == 4
        assert Result.objects.count() == 3

    def test_with_nothing_failed_a_retry_changes_nothing(self, study):
        batch = launch(study, inputs=1)
        answer(batch, 1)
        assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 0
        assert batch.state == "done"
        assert "batch.retried" not in find_events(batch)

    def test_a_cancelled_batch_stays_cancelled(self, study):
        batch = launch(study, inputs=2)
        finish(batch, claim(batch, 1), GIVEN_UP)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        with pytest.raises(Refused, match="stays cancelled"):
            actions.retry_failed(batch=batch, by=trail.SYSTEM)

    @pytest.fixture
    def holding(self, study):
        """A batch all but one of whose calls were answered, and which holds that one."""
        batch = launch(study, inputs=3, lost_answers="hold")
        answer(batch, 2)
        finish(batch, claim(batch, 1), LOST)
        assert count_states(batch) == {"done": 2, "held": 1}
        assert batch.state == "paused"
        return batch

    def test_a_batch_with_only_held_cells_left_asks_for_a_decision(self, holding):
        with pytest.raises(Refused, match=r"Only held cells are left \(1\)"):
            actions.resume_batch(batch=holding, by=trail.SYSTEM)

    def test_held_cells_can_be_asked_again(self, holding, notified):
        assert actions.release_held(batch=holding, by=trail.SYSTEM, again=True) == 1
        assert holding.state == "running"
        assert notified == [holding.queues.get().pk]
        assert len(answer(holding, 5)) == 1
        assert stands(holding)[0] == "done"

    def test_held_cells_can_be_counted_as_failed(self, holding, numbers):
        assert actions.release_held(batch=holding, by=trail.SYSTEM, again=False) == 1
        [cell] = Cell.objects.filter(batch=holding, state="failed")
        assert cell.outcome == "provider_error"
        assert numbers.told[-1].answer is None
        assert holding.state == "done"
        assert find_events(holding)[-2:] == ["batch.held_given_up", "batch.finished"]
        # They may have been paid for: what was reserved stays reserved.
        assert holding.reserved_nano > 0

    def test_a_pilot_whose_last_held_cell_is_given_up_waits_for_a_yes_and_the_trail_tells(self, study):
        batch = launch(study, inputs=4, pilot=2, lost_answers="hold")
        calls = claim(batch, 2)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        finish(batch, calls, LOST)
        assert actions.release_held(batch=batch, by=trail.SYSTEM, again=False) == 2
        assert stands(batch) == ("waiting", "pause")
        assert find_events(batch)[-2:] == ["batch.held_given_up", "batch.pilot_finished"]

    def test_a_cancelled_batch_holds_nothing(self, holding):
        actions.cancel_batch(batch=holding, by=trail.SYSTEM)
        assert count_states(holding) == {"done": 2, "cancelled": 1}

    def test_releasing_twice_changes_nothing(self, holding):
        actions.release_held(batch=holding, by=trail.SYSTEM, again=True)
        assert actions.release_held(batch=holding, by=trail.SYSTEM, again=True) == 0
        assert find_events(holding).count("batch.held_asked_again") == 1


def run_command(*words):
    out = StringIO()
    call_command("batch", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


class TestCommand:
    def test_what_is_set_is_set_together_or_not_at_all(self, study):
        batch = launch(study)
        with pytest.raises(CommandError):
            run_command("set", str(batch.pk), "--name", "Pilot of May", "--concurrency", "999999")
        assert Batch.objects.get().title == "Numbers"
        run_command("set", str(batch.pk), "--name", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645")
        assert "\u200c" in Batch.objects.get().title

    def test_show_has_the_keys_that_scripts_rely_on(self, study):
        batch = launch(study, cap_usd=Decimal(1))
        answer(batch, 1)
        shown = run_command("show", str(batch.pk))
        assert {
            key: shown[key] for key in ("state", "cells", "outcomes", "calls", "spent", "cap", "possibly_paid_twice")
        } == {
            "state": "running",
            "cells": 3,
            "outcomes": {"said": 1},
            "calls": 1,
            "spent": 0.00002,
            "cap": 1.0,
            "possibly_paid_twice": 0,
        }
        assert shown["throughput"] > 0
        assert isinstance(shown["eta_seconds"], float)
        assert "1 answer in the last" in shown["eta_basis"]

    def test_show_tells_an_outage_and_the_calls_in_flight(self, study):
        batch = launch(study)
        answer(batch, 1)
        calm = run_command("show", str(batch.pk))
        assert (calm["server_silent_since"], calm["next_try_at"], calm["in_flight"]) == (None, None, 0)
        since = timezone.now() - datetime.timedelta(minutes=5)
        WorkQueue.objects.update(silent_since=since, slow_until=since + datetime.timedelta(minutes=6), in_flight=1)
        shown = run_command("show", str(batch.pk))
        assert (shown["server_silent_since"], shown["in_flight"]) == (since.isoformat(), 1)
        assert shown["next_try_at"] is not None
        assert (shown["eta_seconds"], shown["eta_basis"]) == (None, "a server does not answer")

    def test_open_batches_are_listed_and_ended_ones_on_request(self, study):
        done, running = launch(study, inputs=1), launch(study, inputs=2)
        answer(done, 1)
        assert [row["batch"] for row in run_command("list")] == [running.pk]
        rows = run_command("list", "--all", "--study", study.slug)
        assert [(row["batch"], row["state"], row["finished"], row["cells"]) for row in rows] == [
            (done.pk, "done", 1, 1),
            (running.pk, "running", 0, 2),
        ]

    def test_all_batches_that_send_calls_are_paused_at_once(self, study):
        done, running, silent = (launch(study, inputs=1) for _ in range(3))
        answer(done, 1)
        # A batch that waits for its server would go on by itself.
        Batch.objects.filter(pk=silent.pk).update(state=Batch.State.PAUSED)
        assert silent.control == Batch.Control.RUN
        assert run_command("pause", "--all") == {"paused": 2}
        assert [stands(batch) for batch in (done, running, silent)] == [
            ("done", "run"),
            ("paused", "pause"),
            ("paused", "pause"),
        ]
        assert run_command("pause", "--all") == {"paused": 0}

    @pytest.mark.parametrize(
        "words", [("list", "1"), ("pause",), ("pause", "1", "--all"), ("show", "--all"), ("show",)]
    )
    def test_a_number_is_given_where_one_batch_is_meant_and_nowhere_else(self, words):
        with pytest.raises(CommandError, match=r"argument"):
            run_command(*words)

    def test_a_retry_of_nothing_says_so(self, study):
        number = str(launch(study).pk)
        said = StringIO()
        call_command("batch", "retry", number, stdout=StringIO(), stderr=said)
        assert f"Nothing in batch {number} has failed" in said.getvalue()

    def test_what_is_shown_is_written_in_one_piece_for_readers_of_its_beginning(self, study):
        class Pipe(StringIO):
            pieces = 0

            def write(self, text):
                self.pieces += 1
                return super().write(text)

        out = Pipe()
        call_command("batch", "show", str(launch(study).pk), stdout=out)
        assert out.pieces == 1
        assert "possibly_paid_twice" in out.getvalue()

    def test_every_control_has_its_word(self, study):
        number = str(launch(study, inputs=10, pilot=2).pk)
        batch = Batch.objects.get(pk=number)
        assert run_command("pause", number)["state"] == "paused"
        assert run_command("pause", number)["state"] == "paused"
        assert run_command("resume", number)["state"] == "pilot"
        answer(batch, 1)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert run_command("retry", number)["state"] == "pilot"
        answer(batch, 1)
        assert run_command("show", number)["state"] == "waiting"
        assert run_command("confirm", number, "--cap", "2")["cap"] == 2.0
        changed = run_command("set", number, "--concurrency", "7", "--cap", "3")
        assert (changed["concurrency"], changed["cap"]) == (7, 3.0)
        assert run_command("set", number, "--cap", "none")["cap"] is None
        assert run_command("drain", number)["state"] == "paused"
        assert run_command("cancel", number)["control"] == "cancel"
        assert run_command("abort", number)["control"] == "abort"

    def test_release_asks_what_becomes_of_the_cells(self, study):
        batch = launch(study, inputs=2, lost_answers="hold")
        finish(batch, claim(batch, 2), LOST)
        assert run_command("show", str(batch.pk))["held"] == 2
        with pytest.raises(CommandError, match="--again"):
            run_command("release", str(batch.pk))
        assert run_command("release", str(batch.pk), "--fail")["states"] == {"failed": 2}

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["show", "999999"], "no batch 999999"),
            (["set", "N"], "Say what to set"),
            (["set", "N", "--cap", "much"], "--cap .much. is not a number"),
            (["pause", "N", "--cap", "3"], "unrecognized arguments: --cap 3"),
            (["confirm", "N"], "pilot has not ended"),
        ],
    )
    def test_a_wrong_wish_is_answered_in_one_sentence(self, study, words, sentence):
        number = str(launch(study, inputs=10, pilot=2).pk)
        with pytest.raises(CommandError, match=sentence):
            run_command(*[number if word == "N" else word for word in words])
