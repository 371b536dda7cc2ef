import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from auditapp.batches import actions
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.batches.pages import progress
from auditapp.batches.pages.progress import read_progress, read_progress_of, watch_progress
from auditapp.llm.actions import set_capabilities
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.trial_kinds import GIVEN_UP, LOST, answer, claim, finish, launch, make_variant
from transcripts.audit_trail import trail

pytestmark = pytest.mark.usefixtures("numbers")


def date_answers(batch, *seconds_ago):
    """The batch was launched an hour ago, and its answers came so many seconds ago."""
    now = read_now()
    Batch.objects.filter(pk=batch.pk).update(created_at=now - datetime.timedelta(hours=1))
    attempts = Attempt.objects.filter(cell__batch=batch, end="answered").order_by("pk")
    for attempt, ago in zip(attempts, seconds_ago, strict=True):
        Attempt.objects.filter(pk=attempt.pk).update(done_at=now - datetime.timedelta(seconds=ago))
    batch.refresh_from_db()


def test_a_batch_is_counted_whole_and_by_arm(study):
    batch = launch(study, make_variant("a"), make_variant("b"), inputs=4, lost_answers="hold")
    first, second = batch.arms.order_by("pk")
    answer(batch, 2)
    finish(batch, claim(batch, 1), GIVEN_UP)
    finish(batch, claim(batch, 1), LOST)
    claim(batch, 1)
    found = read_progress(batch)
    assert (found.cells, found.finished, found.begun, found.held) == (8, 3, 5, 1)
    assert found.by_state == {"done": 2, "failed": 1, "held": 1, "leased": 1, "planned": 3}
    assert found.outcomes == {"said": 2, "provider_error": 1}
    assert (found.calls, found.cached, found.unknown_calls) == (5, 0, 1)
    assert found.unknown_nano == Attempt.objects.get(end="unknown").reserved_nano > 0
    assert found.by_arm[first.pk].outcomes == {"said": 2, "provider_error": 1}
    assert (found.by_arm[first.pk].calls, found.by_arm[first.pk].unknown_calls, found.by_arm[first.pk].left) == (
        4,
        1,
        1,
    )
    assert (found.by_arm[second.pk].calls, found.by_arm[second.pk].left) == (1, 4)


def test_cancelled_cells_are_finished_and_have_no_outcome(study):
    batch = launch(study, inputs=5)
    answer(batch, 1)
    finish(batch, claim(batch, 1), GIVEN_UP)
    actions.cancel_batch(batch=batch, by=trail.SYSTEM)
    found = read_progress(batch)
    assert (found.finished, found.ended, found.cancelled) == (5, 2, 3)
    assert [(arm.finished, arm.ended, arm.cancelled) for arm in found.by_arm.values()] == [(5, 2, 3)]


def test_what_was_never_sent_and_what_the_cache_gave_are_no_calls(study):
    batch = launch(study, inputs=3)
    calls = claim(batch, 3)
    finish(batch, calls[:1], ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error="stopped"))
    finish(batch, calls[1:], ChatAnswer(CallOutcome.ANSWERED, content="yes", tokens_in=1, tokens_out=1))
    Attempt.objects.filter(pk=calls[2].leased.attempt_id).update(end="cached")
    found = read_progress(batch)
    assert (found.calls, found.cached) == (1, 1)


def test_the_calls_counted_are_the_attempts_of_the_ledger(study):
    batch = launch(study, make_variant("a"), make_variant("b"), inputs=10)
    answer(batch, 3)
    finish(batch, claim(batch, 2), LOST)
    finish(batch, claim(batch, 4), ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error="stopped"))
    finish(batch, claim(batch, 5), GIVEN_UP)
    actions.retry_failed(batch=batch, by=trail.SYSTEM)
    claim(batch, 6)
    found = read_progress(batch)
    sent = Attempt.objects.filter(cell__batch=batch).exclude(end__in=["unsent", "cached"])
    assert found.calls == sent.count() == sum(arm.calls for arm in found.by_arm.values())


def test_the_rate_is_that_of_the_last_half_minute(study):
    batch = launch(study, inputs=40)
    answer(batch, 20)
    date_answers(batch, *[5.0] * 15, *[100.0] * 5)
    found = read_progress(batch)
    assert found.throughput == pytest.approx(15 / 30)
    assert found.eta_seconds == pytest.approx(20 / (15 / 30))
    assert found.eta_basis == "15 answers in the last 30 seconds"


def test_where_half_a_minute_holds_too_little_ten_are_looked_at(study):
    batch = launch(study, inputs=40)
    answer(batch, 6)
    date_answers(batch, 5.0, 70.0, 150.0, 300.0, 590.0, 900.0)
    found = read_progress(batch)
    assert found.throughput == pytest.approx(5 / 600)
    assert found.eta_basis == "5 answers in the last 10 minutes"


def test_a_batch_that_stands_still_does_not_boast_its_former_speed(study):
    batch = launch(study, inputs=40)
    answer(batch, 20)
    date_answers(batch, *[900.0] * 20)
    found = read_progress(batch)
    assert (found.throughput, found.eta_seconds) == (0.0, None)
    assert found.eta_basis == "no answer in the last 10 minutes"


def test_a_batch_that_ended_tells_its_last_speed(study):
    batch = launch(study, inputs=20)
    answer(batch, 20)
    date_answers(batch, *[900.0] * 20)
    found = read_progress(batch)
    assert batch.state == "done"
    assert found.throughput == pytest.approx(20 / 30)
    assert found.eta_seconds == 0.0


def test_a_pilot_s_time_left_is_that_of_the_pilot(study):
    batch = launch(study, inputs=100, pilot=20)
    answer(batch, 15)
    date_answers(batch, *[5.0] * 15)
    found = read_progress(batch)
    assert (found.pilot_cells, found.pilot_left) == (20, 5)
    assert found.eta_seconds == pytest.approx(5 / (15 / 30))


def test_what_keeps_a_time_from_being_known_is_said(study):
    batch = launch(study, inputs=5)
    assert read_progress(batch).eta_basis == "no answer yet"
    actions.pause_batch(batch=batch, by=trail.SYSTEM)
    assert (read_progress(batch).eta_seconds, read_progress(batch).eta_basis) == (None, "nothing is being sent")
    variant = make_variant("jobs")
    set_capabilities(variant=variant, offers_batches=True, by=trail.SYSTEM)
    assert "within a day" in read_progress(launch(study, variant, route="jobs")).eta_basis


def test_many_batches_take_as_many_queries_as_few(study):
    def make(label):
        batch = launch(study, make_variant(label), inputs=20)
        answer(batch, 3)
        finish(batch, claim(batch, 1), LOST)
        return batch

    few = [make("a")]
    many = [*few, make("b"), make("c"), make("d")]
    with CaptureQueriesContext(connection) as asked_for_few:
        read_progress_of(few)
    with CaptureQueriesContext(connection) as asked_for_many:
        found = read_progress_of(many)
    assert len(asked_for_few) == len(asked_for_many) <= 7
    for batch in many:
        alone = read_progress(batch)
        assert alone._replace(throughput=0, eta_seconds=None) == found[batch.pk]._replace(
            throughput=0, eta_seconds=None
        )


def test_no_batches_and_a_batch_without_calls_are_read_too(study):
    assert read_progress_of([]) == {}
    found = read_progress(launch(study, inputs=2))
    assert (found.cells, found.calls, found.throughput, found.last_answer_at) == (2, 0, 0.0, None)


def test_a_page_may_look_at_figures_a_second_old(study, monkeypatch):
    batch = launch(study, inputs=3)
    assert watch_progress(batch).finished == 0
    Cell.objects.filter(batch=batch).update(state="done")
    assert watch_progress(batch).finished == 0
    monkeypatch.setattr(progress, "WATCH_SECONDS", 0.0)
    assert watch_progress(batch).finished == 3
