"""An outage by a clock that stands still until it is told to move."""

from itertools import pairwise

import pytest

from auditapp.batches.pure.limiter import MAX_WAIT, Outage
from auditapp.batches.routes.sending import Sender
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from tests.auditapp.batches.test_limiter import Clock


@pytest.fixture
def clock():
    return Clock()


def fail(outage, clock, cells, *, is_turned_away=False):
    for cell in cells:
        outage.note_sent()
        outage.note_silence(cell, clock.time, is_turned_away=is_turned_away)


class TestBeginning:
    def test_five_cells_in_a_row_without_an_answer_are_an_outage(self, clock):
        outage = Outage(clock=clock)
        fail(outage, clock, range(4))
        assert outage.may_send()
        fail(outage, clock, [4])
        assert not outage.may_send()
        assert outage.is_away

    def test_one_cell_that_fails_again_and_again_is_not(self, clock):
        outage = Outage(clock=clock)
        fail(outage, clock, [1] * 20)
        assert not outage.is_away

    def test_an_answer_in_between_starts_the_count_anew(self, clock):
        outage = Outage(clock=clock)
        for first in range(0, 40, 4):
            fail(outage, clock, range(first, first + 4))
            assert not outage.is_away
            outage.note_life()

    def test_an_answer_in_between_starts_the_count_of_turned_away_calls_again(self, clock):
        outage = Outage(clock=clock)
        for _ in range(5):
            fail(outage, clock, [1, 1], is_turned_away=True)
            assert not outage.is_away
            outage.note_life()

    def test_three_calls_that_were_turned_away_are_an_outage_even_of_one_cell(self, clock):
        outage = Outage(clock=clock)
        fail(outage, clock, [1, 1], is_turned_away=True)
        assert not outage.is_away
        fail(outage, clock, [1], is_turned_away=True)
        assert outage.is_away


class TestWaiting:
    def test_one_probe_at_a_time_after_waits_that_double_up_to_a_minute(self, clock):
        outage = Outage(clock=clock)
        fail(outage, clock, range(30))
        begun, probes = clock.time, []
        while clock.time < begun + 600:
            if outage.may_send():
                probes.append(clock.time - begun)
                outage.note_sent()
                assert not outage.may_send()
                clock.time += 0.01
                outage.note_silence(7, clock.time - 0.01, is_turned_away=False)
            clock.time += 0.25
        assert [round(at) for at in probes[:7]] == [1, 2, 5, 10, 20, 40, 80]
        gaps = [after - before for before, after in pairwise(probes)]
        assert max(gaps) <= MAX_WAIT + 1
        assert len(probes) <= 20

    def test_calls_from_before_the_outage_neither_free_nor_are_the_probe(self, clock):
        outage = Outage(clock=clock)
        before = clock.time
        clock.time += 1
        fail(outage, clock, range(5))
        clock.time += 60
        assert outage.may_send()
        outage.note_sent()
        outage.note_silence(9, before, is_turned_away=False)
        clock.time += 3600
        assert not outage.may_send()

    def test_retry_after_lengthens_the_wait_up_to_a_minute(self, clock):
        outage = Outage(clock=clock)
        for cell in range(5):
            outage.note_silence(cell, clock.time, is_turned_away=True, retry_after=20 if cell < 4 else 4000)
        assert outage.seconds_to_wait() == MAX_WAIT

    def test_any_answer_ends_it(self, clock):
        outage = Outage(clock=clock)
        fail(outage, clock, range(5))
        outage.note_life()
        assert outage.may_send()
        assert outage.seconds_to_wait() == outage.silent_seconds() == 0

    def test_the_next_runner_goes_on_with_what_was_kept(self, clock):
        outage = Outage(silent_for=100, wait=20, clock=clock)
        assert outage.is_away
        assert not outage.may_send()
        assert outage.seconds_to_wait() == 20
        clock.time += 20
        assert outage.may_send()
        outage.note_sent()
        clock.time += 1
        outage.note_silence(1, clock.time - 1, is_turned_away=True)
        assert outage.silent_seconds() == pytest.approx(121)
        assert outage.seconds_to_wait() == MAX_WAIT

    def test_a_person_who_resumes_does_not_wait(self, clock):
        outage = Outage(silent_for=100, wait=20, clock=clock)
        outage.try_now()
        assert outage.may_send()


class Recorder:
    """Notes which of its methods were called."""

    def __init__(self):
        self.called = []

    def __getattr__(self, name):
        return lambda *given, **named: self.called.append(name)


@pytest.mark.parametrize(
    ("answer", "limiter", "outage"),
    [
        (ChatAnswer(CallOutcome.ANSWERED), ["note_answer"], ["note_life"]),
        (ChatAnswer(CallOutcome.REFUSED, NextStep.SLOW_DOWN, http_status=429), ["note_rate_limit"], ["note_life"]),
        (
            ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.TIMEOUT),
            ["note_timeout"],
            ["note_silence"],
        ),
        (ChatAnswer(CallOutcome.REFUSED, NextStep.RETRY, http_status=500), ["note_failure"], ["note_silence"]),
        (ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400), [], ["note_life"]),
        (ChatAnswer(CallOutcome.UNSENT), [], []),
    ],
    ids=["answered", "slow down", "timeout", "failed", "given up", "unsent"],
)
def test_every_end_of_a_call_tells_the_limiter_and_the_outage_what_it_shows(answer, limiter, outage):
    sender = Sender(None, None, Recorder(), None, Recorder())
    sender._learn(1, answer, 0.0)
    assert (sender.limiter.called, sender.outage.called) == (limiter, outage)
    assert not sender.account_refused
