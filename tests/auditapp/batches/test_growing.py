"""A batch that stays open: one question at a time, each sent when it is asked."""

from dataclasses import replace
from decimal import Decimal

import pytest

from auditapp.batches import actions, kinds
from auditapp.batches.launching import LaunchOptions, PlannedArm, add_cell, close_batch, give_up_cells, launch_batch
from auditapp.batches.ledger import results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Attempt, Cell
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import (
    GIVEN_UP,
    LOST,
    Talks,
    answer_request,
    claim,
    finish,
    launch_talks,
    make_variant,
    read_states,
)
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused


@pytest.fixture(autouse=True)
def talks(monkeypatch):
    kind = Talks()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return kind


def open_talk(study, **options):
    """A batch that stays open, without any cell."""
    batch = launch_batch(
        study=study,
        kind="talks",
        title="Talk",
        arms=[PlannedArm(make_variant(), "session", "You are asked.")],
        input_ids=[],
        by=trail.SYSTEM,
        options=LaunchOptions(**options),
        stays_open=True,
    )
    return batch, batch.arms.get()


def ask(batch, arm, number, after=None, **more):
    return add_cell(batch=batch, arm=arm, input_id=number, by=trail.SYSTEM, after=after, **more)


def hear(batch, content=""):
    """The open question is sent and answered."""
    [call] = claim(batch, 10)
    said = answer_request(call.request)
    now = read_now()
    given = replace(said, content=content or said.content)
    results.store_completed(batch.pk, [CompletedCall(call.leased, given, now, now)])
    batch.refresh_from_db()


def test_a_batch_may_be_opened_before_anything_is_asked_and_stays_open(study):
    batch, _ = open_talk(study)
    assert claim(batch, 1) == []
    batch.refresh_from_db()
    assert batch.state == "running"


def test_each_question_continues_the_one_before_it(study):
    batch, arm = open_talk(study)
    first = ask(batch, arm, 11)
    hear(batch)
    assert batch.state == "running"
    ask(batch, arm, 12, after=first)
    [call] = claim(batch, 10)
    assert list(call.request.history) == [("Question 11", "To “Question 11” after 0.")]


def test_a_question_behind_an_unanswered_one_waits_for_it(study):
    batch, arm = open_talk(study)
    ask(batch, arm, 12, after=ask(batch, arm, 11))
    assert read_states(batch) == {11: "planned", 12: "blocked"}
    hear(batch)
    assert read_states(batch) == {11: "done", 12: "planned"}


def test_the_same_question_again_is_one_cell(study):
    batch, arm = open_talk(study)
    first = ask(batch, arm, 11)
    assert ask(batch, arm, 11) == first
    assert Cell.objects.filter(batch=batch).count() == 1
    assert AuditEvent.objects.filter(action="batch.cell_added").count() == 1
    with pytest.raises(Refused, match="already asked"):
        ask(batch, arm, 11, after=ask(batch, arm, 12))


def test_a_question_whose_answer_was_cut_off_can_be_asked_another_time(study):
    batch, arm = open_talk(study)
    first = ask(batch, arm, 11)
    hear(batch)
    ask(batch, arm, 12, after=first)
    hear(batch, "Cut o")
    again = ask(batch, arm, 12, after=first, repeat=2)
    hear(batch, "Whole.")
    ask(batch, arm, 13, after=again)
    [call] = claim(batch, 10)
    assert call.request.history[-1] == ("Question 12", "Whole.")
    assert len(call.request.history) == 2


def test_nothing_is_added_that_could_exceed_the_cap(study):
    batch, arm = open_talk(study, cap_usd=Decimal("0.0006"))
    first = ask(batch, arm, 11)
    hear(batch, "x" * 1000)
    with pytest.raises(Refused, match=r"could cost up to \$0\.001.*Raise the cap"):
        ask(batch, arm, 12, after=first)
    assert Cell.objects.filter(batch=batch).count() == 1
    actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)
    ask(batch, arm, 12, after=first)
    assert len(claim(batch, 10)) == 1


def test_nothing_continues_a_question_without_an_answer(study):
    batch, arm = open_talk(study)
    first = ask(batch, arm, 11)
    finish(batch, claim(batch, 1), GIVEN_UP)
    assert batch.state == "running"
    with pytest.raises(Refused, match="has no answer"):
        ask(batch, arm, 12, after=first)
    assert actions.retry_failed(batch=batch, by=trail.SYSTEM, only=[first.pk]) == 1
    hear(batch)
    ask(batch, arm, 12, after=first)


def test_a_held_call_pauses_it_and_a_person_decides(study):
    batch, arm = open_talk(study, lost_answers="hold")
    ask(batch, arm, 11)
    finish(batch, claim(batch, 1), LOST)
    assert batch.state == "paused"
    with pytest.raises(Refused, match="is paused"):
        ask(batch, arm, 12)
    actions.release_held(batch=batch, by=trail.SYSTEM, again=False)
    assert (batch.state, batch.control, batch.state_reason) == ("running", "run", "")
    ask(batch, arm, 12)
    hear(batch)


def test_one_that_a_person_paused_stays_paused_when_held_calls_are_given_up(study):
    batch, arm = open_talk(study, lost_answers="hold")
    ask(batch, arm, 11)
    calls = claim(batch, 1)
    actions.pause_batch(batch=batch, by=trail.SYSTEM)
    finish(batch, calls, LOST)
    assert actions.release_held(batch=batch, by=trail.SYSTEM, again=False) == 1
    assert batch.state == "paused"


def test_it_ends_when_it_is_closed(study):
    batch, arm = open_talk(study)
    ask(batch, arm, 11)
    hear(batch)
    close_batch(batch=batch, by=trail.SYSTEM)
    assert batch.state == "done"
    close_batch(batch=batch, by=trail.SYSTEM)
    assert AuditEvent.objects.filter(action="batch.closed").count() == 1
    with pytest.raises(Refused, match="has ended"):
        ask(batch, arm, 12)


def test_a_closed_one_ends_with_the_call_in_flight(study):
    batch, arm = open_talk(study)
    ask(batch, arm, 11)
    calls = claim(batch, 1)
    close_batch(batch=batch, by=trail.SYSTEM)
    assert batch.state == "running"
    with pytest.raises(Refused, match="is closed"):
        ask(batch, arm, 12)
    finish(batch, calls, answer_request(calls[0].request))
    assert batch.state == "done"


def test_a_drained_one_pauses_and_goes_on(study):
    batch, arm = open_talk(study)
    actions.drain_batch(batch=batch, by=trail.SYSTEM)
    assert batch.state == "paused"
    actions.resume_batch(batch=batch, by=trail.SYSTEM)
    ask(batch, arm, 11)
    hear(batch)


def test_nothing_is_added_to_any_other_batch(study):
    batch = launch_talks(study)
    with pytest.raises(Refused, match="is closed"):
        ask(batch, batch.arms.get(), 99)


@pytest.mark.parametrize("options", [{"route": "jobs"}, {"pilot": 3}])
def test_it_is_asked_live_and_without_a_pilot(study, options):
    with pytest.raises(Refused, match="live and without a pilot"):
        open_talk(study, **options)


def test_a_launched_session_can_grow(study):
    batch = launch_talks(study, questions=1, stays_open=True)
    hear(batch)
    ask(batch, batch.arms.get(), 12, after=Cell.objects.get(batch=batch))
    hear(batch)
    [*_, last] = Attempt.objects.latest("pk").history or []
    assert last["content"] == "To “Question 11” after 0."


class TestGivingUp:
    def test_what_waits_behind_it_fails_with_it_and_the_batch_stays_open(self, study, talks):
        batch, arm = open_talk(study)
        first = ask(batch, arm, 11)
        ask(batch, arm, 12, after=first)
        assert give_up_cells(batch=batch, cells=[first.pk], by=trail.SYSTEM) == 1
        assert read_states(batch) == {11: "given_up", 12: "earlier_failed"}
        assert [each.error for each in talks.told] == ["given_up", "earlier_failed"]
        assert batch.state == "running"
        assert claim(batch, 10) == []

    def test_nothing_is_written_twice(self, study):
        batch, arm = open_talk(study)
        first = ask(batch, arm, 11)
        assert [give_up_cells(batch=batch, cells=[first.pk], by=trail.SYSTEM) for _ in range(2)] == [1, 0]
        assert AuditEvent.objects.filter(action="batch.cells_given_up").count() == 1

    def test_of_several_none_is_given_up_while_one_is_under_way(self, study):
        batch, arm = open_talk(study)
        cells = [ask(batch, arm, number) for number in (11, 21)]
        claim(batch, 1)
        with pytest.raises(Refused, match="in progress"):
            give_up_cells(batch=batch, cells=[cell.pk for cell in cells], by=trail.SYSTEM)
        assert read_states(batch) == {11: "leased", 21: "planned"}
