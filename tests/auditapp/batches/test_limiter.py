"""The limiter against a clock that stands still until it is told to move."""

import heapq
import random

import pytest

from auditapp.batches.pure.limiter import COOLDOWN, Limiter


class Clock:
    def __init__(self):
        self.time = 1000.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


def answer_round(limiter, clock, *, used=1.0, seconds=0.2):
    """One clean round: as many calls in flight as may be, each answered."""
    in_flight = int(limiter.limit * used)
    for number in range(limiter.limit):
        limiter.note_sent(min(number + 1, in_flight))
    sent_at = clock.time
    clock.time += seconds
    for _ in range(limiter.limit):
        limiter.note_answer(sent_at, in_flight)


def refuse(limiter, clock, *, retry_after=None, times=1):
    for _ in range(times):
        limiter.note_rate_limit(retry_after, clock.time, limiter.limit)


class TestStart:
    @pytest.mark.parametrize(("ceiling", "start"), [(300, 100), (90, 30), (45, 20), (20, 20), (5, 5), (1, 1)])
    def test_it_starts_at_a_third_of_the_ceiling_and_at_twenty_at_least(self, clock, ceiling, start):
        assert Limiter(ceiling, clock=clock).limit == start

    def test_a_queue_that_met_a_limit_starts_at_four_fifths_of_what_it_held(self, clock):
        assert Limiter(300, held=50, was_limited=True, clock=clock).limit == 40
        assert Limiter(300, held=1, was_limited=True, clock=clock).limit == 1

    def test_a_queue_that_met_none_starts_no_lower_than_a_new_one(self, clock):
        assert Limiter(300, held=30, clock=clock).limit == 100
        assert Limiter(300, held=300, clock=clock).limit == 240

    def test_what_was_held_never_passes_the_ceiling(self, clock):
        assert Limiter(10, held=300, was_limited=True, clock=clock).limit == 10


class TestGrowth:
    def test_slow_start_doubles_with_each_clean_round_up_to_the_ceiling(self, clock):
        limiter = Limiter(150, clock=clock)
        held = [limiter.limit]
        for _ in range(3):
            answer_round(limiter, clock)
            held.append(limiter.limit)
        assert held == [50, 100, 150, 150]

    def test_a_limit_that_was_not_used_does_not_grow(self, clock):
        limiter = Limiter(300, clock=clock)
        answer_round(limiter, clock, used=0.7)
        assert limiter.limit == 100
        answer_round(limiter, clock, used=0.8)
        assert limiter.limit == 200

    def test_failures_of_the_server_void_the_round_and_shrink_nothing(self, clock):
        limiter = Limiter(300, clock=clock)
        for _ in range(99):
            limiter.note_sent(100)
            limiter.note_answer(clock.time, 100)
        for _ in range(11):
            limiter.note_failure()
        limiter.note_sent(100)
        limiter.note_answer(clock.time, 100)
        assert limiter.limit == 100
        for _ in range(200):
            limiter.note_failure()
        assert limiter.limit == 100
        assert [cause for _, _, _, cause, _ in limiter.take_changes()] == ["start"]

    def test_a_few_scattered_failures_do_not_hold_up_the_growth(self, clock):
        limiter = Limiter(300, clock=clock)
        limiter.note_failure()
        answer_round(limiter, clock)
        assert limiter.limit == 200

    def test_after_a_rate_limit_it_grows_by_a_twentieth(self, clock):
        limiter = Limiter(300, held=100, was_limited=True, clock=clock)
        held = [limiter.limit]
        for _ in range(3):
            answer_round(limiter, clock)
            held.append(limiter.limit)
        assert held == [80, 100, 105, 111]


class TestShrinking:
    def test_the_first_rate_limit_takes_a_fifth_and_the_others_of_its_episode_nothing(self, clock):
        limiter = Limiter(300, clock=clock)
        refuse(limiter, clock, times=20)
        assert limiter.limit == 80
        clock.time += COOLDOWN - 1
        refuse(limiter, clock)
        assert limiter.limit == 80
        clock.time += 1
        refuse(limiter, clock)
        assert limiter.limit == 64

    def test_retry_after_lengthens_the_episode(self, clock):
        limiter = Limiter(300, clock=clock)
        refuse(limiter, clock, retry_after=40)
        clock.time += 39
        refuse(limiter, clock)
        assert limiter.limit == 80
        clock.time += 1
        refuse(limiter, clock)
        assert limiter.limit == 64

    def test_it_never_falls_below_one(self, clock):
        limiter = Limiter(1, clock=clock)
        refuse(limiter, clock)
        assert limiter.limit == 1

    def test_answers_during_the_episode_do_not_let_it_grow_past_what_it_held(self, clock):
        limiter = Limiter(300, held=125, was_limited=True, clock=clock)
        refuse(limiter, clock, times=15)
        assert limiter.limit == 80
        answer_round(limiter, clock)
        assert limiter.limit == 80

    def test_a_scattered_refusal_is_taken_back_after_a_round_of_answers(self, clock):
        limiter = Limiter(300, clock=clock)
        refuse(limiter, clock)
        assert limiter.limit == 80
        clock.time += 0.1
        answer_round(limiter, clock)
        assert limiter.limit == 100

    def test_answers_to_calls_sent_before_the_refusal_take_nothing_back(self, clock):
        limiter = Limiter(300, clock=clock)
        before = clock.time
        clock.time += 0.1
        refuse(limiter, clock)
        for _ in range(200):
            limiter.note_answer(before, 80)
        assert limiter.limit == 80


class TestBan:
    def test_in_a_storm_nothing_is_sent_until_retry_after_is_over(self, clock):
        limiter = Limiter(20, clock=clock)
        refuse(limiter, clock, retry_after=30, times=6)
        assert not limiter.may_send(0)
        clock.time += 29.9
        assert not limiter.may_send(0)
        assert limiter.seconds_to_wait() == pytest.approx(0.1)
        clock.time += 0.1
        assert limiter.may_send(0)

    def test_after_the_wait_one_call_a_second_is_sent_until_one_is_answered(self, clock):
        limiter = Limiter(20, clock=clock)
        refuse(limiter, clock, retry_after=30, times=6)
        clock.time += 30
        limiter.note_sent(1)
        assert not limiter.may_send(1)
        clock.time += 1
        assert limiter.may_send(1)
        limiter.note_answer(clock.time - 1, 0)
        assert limiter.may_send(1)
        assert limiter.seconds_to_wait() == 0

    def test_an_answer_to_a_call_sent_before_the_ban_does_not_end_it(self, clock):
        limiter = Limiter(20, clock=clock)
        before = clock.time - 1
        refuse(limiter, clock, retry_after=30, times=6)
        clock.time += 31
        limiter.note_sent(1)
        limiter.note_answer(before, 1)
        assert not limiter.may_send(1)

    def test_a_storm_without_retry_after_gets_at_most_a_call_a_second(self, clock):
        limiter = Limiter(100, clock=clock)
        sent = 0
        begun = clock.time
        while clock.time < begun + 60:
            while limiter.may_send(0):
                sent += 1
                limiter.note_sent(1)
                limiter.note_rate_limit(None, clock.time, 0)
            clock.time += 0.1
        assert 5 <= sent <= 100 // 3 + 60

    def test_scattered_refusals_ban_nobody(self, clock):
        limiter = Limiter(100, clock=clock)
        refuse(limiter, clock, retry_after=30, times=5)
        assert limiter.may_send(0)

    def test_a_ban_outlives_its_runner(self, clock):
        limiter = Limiter(100, held=50, was_limited=True, banned_for=12.0, clock=clock)
        assert not limiter.may_send(0)
        assert limiter.seconds_to_wait() == pytest.approx(12)
        clock.time += 12
        assert limiter.may_send(0)


class TestCeiling:
    def test_a_lower_ceiling_holds_at_once(self, clock):
        limiter = Limiter(300, clock=clock)
        limiter.set_ceiling(10, 100)
        assert limiter.limit == 10
        assert not limiter.may_send(10)
        assert limiter.changes[-1][1:] == (10, 100, "setting", None)

    def test_a_higher_ceiling_raises_a_queue_that_met_no_limit_at_once(self, clock):
        limiter = Limiter(10, clock=clock)
        limiter.set_ceiling(300, 10)
        assert limiter.limit == 100
        answer_round(limiter, clock)
        assert limiter.limit == 200

    def test_a_higher_ceiling_leaves_a_limited_queue_to_grow_by_itself(self, clock):
        limiter = Limiter(50, held=50, was_limited=True, clock=clock)
        limiter.set_ceiling(300, 40)
        assert limiter.limit == 40

    def test_the_same_ceiling_is_no_change(self, clock):
        limiter = Limiter(50, clock=clock)
        limiter.take_changes()
        limiter.set_ceiling(50, 3)
        assert limiter.take_changes() == []


def test_every_step_is_told_once_with_its_cause(clock):
    limiter = Limiter(300, clock=clock)
    answer_round(limiter, clock)
    clock.time += 1
    refuse(limiter, clock, retry_after=20)
    told = [(limit, cause, wait) for _, limit, _, cause, wait in limiter.take_changes()]
    assert told == [(100, "start", None), (200, "growth", None), (160, "rate_limited", 20)]
    assert limiter.take_changes() == []


class Simulation:
    """A provider with ``room`` calls in flight at most, which also refuses and fails some at random."""

    def __init__(self, clock, *, room=10**9, refused=0.0, failed=0.0):
        self.clock, self.room, self.refused, self.failed = clock, room, refused, failed
        self.draw = random.Random(7)
        self.answered = 0

    def run(self, limiter, seconds, *, calls=10**9):
        """Run for so long, or until so many calls are answered; the seconds it took."""
        queue = []
        begun, sent, number, inside = self.clock.time, 0, 0, 0
        while self.clock.time < begun + seconds and self.answered < calls:
            while limiter.may_send(sent):
                sent += 1
                number += 1
                limiter.note_sent(sent)
                draw = self.draw.random()
                end = "refused" if inside >= self.room or draw < self.refused else "answered"
                end = "failed" if end == "answered" and draw < self.refused + self.failed else end
                inside += end == "answered"
                takes = self.draw.uniform(0.15, 0.25) if end == "answered" else 0.002
                heapq.heappush(queue, (self.clock.time + takes, number, self.clock.time, end))
            if not queue or queue[0][0] > self.clock.time + 0.05:
                self.clock.time += 0.05
                continue
            self.clock.time, _, sent_at, end = heapq.heappop(queue)
            sent -= 1
            if end == "refused":
                limiter.note_rate_limit(1.0, sent_at, sent)
            elif end == "failed":
                limiter.note_failure()
            else:
                inside -= 1
                self.answered += 1
                limiter.note_answer(sent_at, sent)
        return self.clock.time - begun


class TestAgainstAProvider:
    @pytest.mark.parametrize("ceiling", [30, 100])
    def test_scattered_refusals_and_failures_cost_little(self, clock, ceiling):
        clean = Simulation(clock).run(Limiter(ceiling, clock=clock), 600, calls=3000)
        faulty = Simulation(clock, refused=0.05, failed=0.02)
        assert faulty.run(Limiter(ceiling, clock=clock), 600, calls=3000) <= 1.2 * clean

    @pytest.mark.parametrize("room", [10, 40, 80])
    def test_a_real_limit_is_found_and_kept_near(self, clock, room):
        limiter = Limiter(300, clock=clock)
        provider = Simulation(clock, room=room)
        provider.run(limiter, 300)
        assert room / 2 <= limiter.limit <= room * 1.4
        before = provider.answered
        provider.run(limiter, 60)
        assert provider.answered - before >= 0.6 * room * 5 * 60


class SlowServer:
    """A server with ``slots`` that each answer one call after the other; the others wait in its queue, in which their time-out
    runs. Time-outs free the slot or the place in the queue. ``seconds`` is how long an answer takes by itself."""

    def __init__(self, clock, *, slots, seconds, timeout=600.0):
        self.clock, self.slots, self.seconds, self.timeout = clock, slots, seconds, timeout
        self.draw = random.Random(7)
        self.answered = self.timed_out = self.highest = 0

    def run(self, limiter, *, until):
        waiting = []
        working = []
        end = self.clock.time + until
        while self.clock.time < end:
            while limiter.may_send(len(waiting) + len(working)):
                waiting.append(self.clock.time)
                limiter.note_sent(len(waiting) + len(working))
            self.highest = max(self.highest, len(waiting) + len(working))
            while waiting and len(working) < self.slots:
                heapq.heappush(working, (self.clock.time + self.seconds(self.draw), waiting.pop(0)))
            overdue = [min(sent for _, sent in working) + self.timeout] + [sent + self.timeout for sent in waiting[:1]]
            if min(overdue) <= working[0][0]:
                self.clock.time = min(overdue)
                for sent in [sent for sent in waiting if sent + self.timeout <= self.clock.time]:
                    waiting.remove(sent)
                    self._time_out(limiter, sent, len(waiting) + len(working))
                for each in [each for each in working if each[1] + self.timeout <= self.clock.time]:
                    working.remove(each)
                    heapq.heapify(working)
                    self._time_out(limiter, each[1], len(waiting) + len(working))
                continue
            self.clock.time, sent_at = heapq.heappop(working)
            self.answered += 1
            limiter.note_answer(sent_at, len(waiting) + len(working))

    def _time_out(self, limiter, sent_at, in_flight):
        self.timed_out += 1
        limiter.note_timeout(sent_at, in_flight)


def steady(seconds):
    return lambda draw: seconds * draw.uniform(0.98, 1.02)


def varied(seconds):
    """As answers of different lengths take: half of them under ``seconds``, one in forty over three times as long."""
    return lambda draw: seconds * draw.lognormvariate(0, 0.6)


class TestSlowServers:
    @pytest.mark.parametrize("timeout", [600.0, 15.0])
    def test_a_private_server_that_answers_one_call_at_a_time_is_never_overloaded(self, clock, timeout):
        limiter = Limiter(30, is_careful=True, timeout=timeout, clock=clock)
        server = SlowServer(clock, slots=1, seconds=steady(5.0), timeout=timeout)
        server.run(limiter, until=60)
        assert server.highest <= 4
        server.run(limiter, until=3600)
        assert server.highest <= 4
        assert server.timed_out == 0
        assert server.answered >= 0.98 * 3660 / 5

    @pytest.mark.parametrize(
        ("slots", "seconds", "most", "min_share"),
        [(1, 2.0, 4, 0.98), (2, 5.0, 4, 0.9), (4, 5.0, 8, 0.9), (8, 5.0, 16, 0.9), (16, 3.0, 32, 0.85)],
    )
    def test_the_limit_settles_near_the_number_of_slots(self, clock, slots, seconds, most, min_share):
        limiter = Limiter(100, is_careful=True, clock=clock)
        server = SlowServer(clock, slots=slots, seconds=steady(seconds))
        server.run(limiter, until=1800)
        assert server.highest <= most
        assert server.answered >= min_share * slots * 1800 / seconds
        assert server.timed_out == 0

    @pytest.mark.parametrize(
        ("seconds", "within"), [(steady(0.2), 2), (steady(5.0), 60), (varied(5.0), 900), (varied(30.0), 3600)]
    )
    def test_a_private_server_without_a_limit_is_used_up_to_the_ceiling(self, clock, seconds, within):
        limiter = Limiter(30, is_careful=True, clock=clock)
        SlowServer(clock, slots=1000, seconds=seconds).run(limiter, until=within)
        assert limiter.limit == 30

    def test_a_public_server_that_does_not_keep_up_is_recognised_by_its_time_outs(self, clock):
        limiter = Limiter(30, timeout=15, clock=clock)
        server = SlowServer(clock, slots=1, seconds=steady(5.0), timeout=15)
        server.run(limiter, until=60)
        assert limiter.limit <= 2
        first = server.timed_out
        server.run(limiter, until=600)
        assert server.timed_out == first <= 20
        assert [cause for _, _, _, cause, _ in limiter.take_changes()][:2] == ["start", "timed_out"]

    def test_a_lone_time_out_among_many_answers_takes_nothing(self, clock):
        limiter = Limiter(100, clock=clock)
        before = limiter.limit
        sent_at = clock.time
        answer_round(limiter, clock)
        limiter.note_timeout(sent_at, 20)
        assert limiter.limit >= before
        assert not limiter.is_careful

    def test_calls_sent_before_a_step_take_nothing_further_when_they_time_out(self, clock):
        limiter = Limiter(300, timeout=15, clock=clock)
        sent_at = clock.time
        for number in range(100):
            limiter.note_sent(number + 1)
        clock.time += 15
        for _ in range(100):
            limiter.note_timeout(sent_at, 50)
        assert limiter.limit == 50

    def test_a_careful_queue_starts_at_two_and_a_later_one_at_what_was_held(self, clock):
        assert Limiter(300, is_careful=True, clock=clock).limit == 2
        assert Limiter(300, held=10, is_careful=True, clock=clock).limit == 10
        assert Limiter(300, held=10, was_limited=True, is_careful=True, clock=clock).limit == 8
        assert Limiter(1, is_careful=True, clock=clock).limit == 1

    def test_a_higher_ceiling_does_not_lift_a_careful_queue(self, clock):
        limiter = Limiter(10, is_careful=True, clock=clock)
        limiter.set_ceiling(300, 2)
        assert limiter.limit == 2
