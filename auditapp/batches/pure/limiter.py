"""How many calls a queue may have in flight: more while the provider accepts them, fewer when it asks for fewer.

Additive increase, multiplicative decrease, after a slow start:

- It starts at a third of the ceiling (at least 20), or at 80 % of what the queue last held, and doubles with every clean
  round until the first rate limit; from then on it goes back to what it held, and on by 5 % a round. A round is as many
  answers as the limit allows calls; it counts only when at least 80 % of the limit was in use. Failures of the server or
  the network other than time-outs do not shrink it; when more than a tenth of a round fails, the round does not count.
- A rate limit takes a fifth away, once per episode: further ones within 15 s (or within the provider's Retry-After) take
  nothing. When the next round at the smaller limit brings answers for nine calls in ten, the refusal was a scattered
  one: the step is taken back, and within the same episode it is only taken again when a quarter of a round is refused.
- When a third of the limit is refused with no answer to anything sent since, the queue is banned: nothing is sent until
  Retry-After is over (or a wait that doubles), then one call a second until one of them is answered.
- When more than a tenth of a round times out, the limit is halved, or set to what the server answered within the time-out
  if that is less: the time that a call waits in the server's own queue counts against its time-out. Calls that were sent
  before such a step take nothing further when they time out.

A server at a private address often answers only a few calls at a time, and a queue that met time-outs talks to one that
does not keep up. Such a queue is careful. It starts at two calls or at what it last held. It only grows while the
slowest answer, lengthened in proportion, stays within three quarters of the time-out. Where answers take a second or more
it goes back if more calls in flight brought hardly more answers a second, and tries again after a pause that doubles.

``Outage`` says whether a queue's server answers at all, and when it is asked again. A server is away when calls to five
different cells in a row brought no answer, or when three in a row were turned away before anything was processed (no
connection, 502, 503). Any answer in between restarts the count, and so does a refusal, which comes from a server that lives.
While it is away, one call at a time is sent, after waits as long as the silence so far: they double, from a second to a minute.
The first answer ends the outage.

The clock is passed in, and nothing sleeps here. A queue's next runner continues with what is in the database.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Sequence

MIN_START = 20
START_SHARE = 3
RESTORED = 0.8
GROWTH = 1.05
SHRINK = 0.8
IN_USE = 0.8
SCATTERED = 0.1
TOO_MANY = 0.25
MIN_TOO_MANY = 5
COOLDOWN = 15.0
MIN_REFUSED = 3
BAN_SHARE = 3
MIN_BAN = 1.0
MAX_BACKOFF = 30.0
MAX_BAN = 600.0
PROBE_SECONDS = 1.0
CAREFUL_START = 2
CAREFUL_ROUND = 4
TIMEOUT_SHARE = 0.75
SLOW_ANSWER = 1.0
GAIN = 0.35
FIRST_REST = 4
MAX_REST = 64
IDLE_SECONDS = 1.0

START, GREW, RATE_LIMITED, SETTING = "start", "growth", "rate_limited", "setting"
TIMED_OUT, NO_GAIN = "timed_out", "no_gain"

# A change of the limit: when, by the limiter's clock; the limit; the calls in flight; the cause; the wait that the provider
# asked for.
Change = tuple[float, int, int, str, float | None]


class Limiter:
    """The limit of one queue. ``held`` is the limit that the queue last sustained, ``was_limited`` whether it ever met a rate
    limit.

    ``is_careful``: the address is private, or the queue has met time-outs before. ``timeout`` is that of its calls in seconds.
    """

    def __init__(
        self,
        ceiling: int,
        *,
        held: int | None = None,
        was_limited: bool = False,
        banned_for: float = 0.0,
        is_careful: bool = False,
        timeout: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.ceiling = max(1, ceiling)
        self.slow_start = not was_limited
        self.is_careful, self.timeout = is_careful, timeout
        self.limit = self._choose_start(held)
        now = clock()
        self.banned_until = now + max(0.0, banned_for)
        self.probing = banned_for > 0
        self.changes: list[Change] = [(now, self.limit, 0, START, None)]
        self._last_probe = -math.inf
        self._bans_in_row = 0
        self._cooldown_until = -math.inf
        self._refused_since: float | None = None
        self._refused_in_row = 0
        self._shrunk_from: int | None = None
        self._was_slow = self._taken_back = False
        self._known_good = held if held is not None and was_limited else 0
        self._slowest = self._slowest_before = 0.0
        self._grown_from: tuple[int, float] | None = None
        self._rest, self._next_rest = 0, FIRST_REST
        self._shrunk_at = self._last_end = -math.inf
        self._begin_limit(now)

    def _choose_start(self, held: int | None) -> int:
        start = CAREFUL_START if self.is_careful else max(MIN_START, self.ceiling // START_SHARE)
        if held is not None:
            restored = max(1, math.floor(held * RESTORED))
            if self.slow_start:
                # A low ceiling of the past says nothing against starting higher; a rate limit and a slow server do.
                restored = held if self.is_careful else max(start, restored)
            start = restored
        return min(start, self.ceiling)

    def _begin_round(self, now: float) -> None:
        self._round_since = now
        self._sent = self._answers = self._refusals = self._failures = self._timeouts = self._peak = 0
        self._latency, self._slowest_before, self._slowest = 0.0, self._slowest, 0.0

    def _begin_limit(self, now: float) -> None:
        """Begin to measure how many answers per second come with this limit."""
        self._limit_since, self._limit_answers = now, 0
        self._begin_round(now)

    @property
    def held(self) -> int:
        """The limit that has proved to work, near which the next runner begins."""
        return self.limit if self._grown_from is None else min(self.limit, self._grown_from[0])

    # --- May a call be sent? ---

    def may_send(self, in_flight: int) -> bool:
        """Whether one more call may be sent now."""
        if in_flight >= self.limit:
            return False
        if not self.probing:
            return True
        now = self.clock()
        return now >= self.banned_until and now - self._last_probe >= PROBE_SECONDS

    def seconds_to_wait(self) -> float:
        """For how long nothing may be sent, whatever the limit; 0 if there is no ban."""
        if not self.probing:
            return 0.0
        return max(0.0, self.banned_until - self.clock(), self._last_probe + PROBE_SECONDS - self.clock())

    def note_sent(self, in_flight: int) -> None:
        """Note that a call was sent; ``in_flight`` includes it."""
        if in_flight == 1 and self.clock() - self._last_end > IDLE_SECONDS:
            # Time in which nothing was asked says nothing about the server.
            self._limit_since, self._limit_answers = self.clock(), 0
        self._sent += 1
        self._peak = max(self._peak, in_flight)
        if self.probing:
            self._last_probe = self.clock()

    # --- What came back ---

    def note_answer(self, sent_at: float, in_flight: int) -> None:
        """Note a usable answer to a call that was sent at ``sent_at`` (by the limiter's clock)."""
        now = self._last_end = self.clock()
        if self._refused_since is None or sent_at > self._refused_since:
            self._refused_since, self._refused_in_row = None, 0
        if self.probing and sent_at >= self.banned_until:
            self.probing, self._bans_in_row = False, 0
        if self._shrunk_from is not None and sent_at < self._round_since:
            return
        self._answers += 1
        self._limit_answers += 1
        self._latency += now - sent_at
        self._slowest = max(self._slowest, now - sent_at)
        if self._answers < (max(self.limit, CAREFUL_ROUND) if self.is_careful else self.limit):
            return
        was_used, was_clean = self._peak >= IN_USE * self.limit, self._is_scattered()
        typical, slowest = self._latency / self._answers, max(self._slowest, self._slowest_before)
        self._begin_round(now)
        self._peak = in_flight
        if self.is_careful and not self._is_worth_growing(now, in_flight, typical):
            return
        if self._shrunk_from is not None and was_clean:
            self._take_back(now, in_flight)
        elif was_clean and was_used and (now >= self._cooldown_until or self._taken_back):
            self._grow(now, in_flight, slowest)

    def _is_worth_growing(self, now: float, in_flight: int, typical: float) -> bool:
        """Whether a careful queue may grow after a round. If the last growth brought hardly more answers per second, it is undone
        first."""
        rate = self._rate(now)
        if self._grown_from is not None:
            (before, rate_before), self._grown_from = self._grown_from, None
            if typical >= SLOW_ANSWER and rate < rate_before * (1 + GAIN * (self.limit / before - 1)):
                self._set(max(before, CAREFUL_START), now, in_flight, NO_GAIN)
                self._begin_limit(now)
                self._take_rest()
                return False
            self._next_rest = FIRST_REST
        self._rest -= 1
        return self._rest < 0

    def _rate(self, now: float) -> float:
        return self._limit_answers / max(now - self._limit_since, 0.001)

    def _take_rest(self) -> None:
        self._rest, self._next_rest = self._next_rest, min(MAX_REST, 2 * self._next_rest)

    def note_timeout(self, sent_at: float, in_flight: int) -> None:
        """Note that a call sent at ``sent_at`` was not answered within its time-out."""
        now = self._last_end = self.clock()
        if sent_at < self._shrunk_at:
            return
        self._failures += 1
        self._timeouts += 1
        if self._timeouts <= SCATTERED * max(self._sent, self._answers, self.limit):
            return
        bearable = math.floor(TIMEOUT_SHARE * self.timeout * self._rate(now))
        half = self.limit // 2
        self.is_careful, self._shrunk_at, self._shrunk_from, self._grown_from = True, now, None, None
        self._set(max(1, min(half, bearable or half)), now, in_flight, TIMED_OUT)
        self._begin_limit(now)
        self._take_rest()

    def note_failure(self) -> None:
        """Note a failure of the server or the network that says nothing about the rate."""
        self._failures += 1
        if self._failures > SCATTERED * max(self._sent, self.limit):
            self._begin_round(self.clock())

    def note_rate_limit(self, retry_after: float | None, sent_at: float, in_flight: int) -> None:
        """Note that the provider refused a call sent at ``sent_at`` because there were too many calls."""
        now = self.clock()
        self._refusals += self._shrunk_from is None or sent_at >= self._round_since
        is_new = now >= self._cooldown_until
        self._cooldown_until = max(
            self._cooldown_until if not is_new else now + COOLDOWN, now + min(retry_after or 0.0, MAX_BAN)
        )
        if is_new:
            self._shrunk_from, self._was_slow, self._taken_back = self.limit, self.slow_start, False
            self.slow_start = False
            self._shrink(now, in_flight, retry_after)
        elif self._taken_back and self._refusals > max(MIN_TOO_MANY, TOO_MANY * self.limit):
            self._shrink_for_good(now, in_flight, retry_after)
        if self._is_storm(now, retry_after, sent_at):
            self._ban(now, retry_after)
            if self._taken_back:
                self._shrink_for_good(now, in_flight, retry_after)
            self._shrunk_from, self.slow_start = None, False

    def _shrink_for_good(self, now: float, in_flight: int, wait: float | None) -> None:
        self._shrunk_from, self._taken_back, self.slow_start = None, False, False
        self._shrink(now, in_flight, wait)

    def _is_storm(self, now: float, retry_after: float | None, sent_at: float) -> bool:
        if self._refused_since is None:
            self._refused_since = now
        self._refused_in_row += 1
        if self.probing and sent_at < self.banned_until:
            # It was sent before the ban, but what it says about the wait is still valid.
            self.banned_until = max(self.banned_until, now + min(MAX_BAN, retry_after or 0.0))
            return False
        return self.probing or self._refused_in_row >= max(MIN_REFUSED, self.limit // BAN_SHARE)

    def _ban(self, now: float, retry_after: float | None) -> None:
        if retry_after is None:
            wait = min(MAX_BACKOFF, MIN_BAN * 2 ** min(self._bans_in_row, 5))
        else:
            wait = min(MAX_BAN, max(MIN_BAN, retry_after))
        self._bans_in_row += 1
        self.probing = True
        self.banned_until = max(self.banned_until, now + wait)

    def _is_scattered(self) -> bool:
        return self._refusals <= SCATTERED * max(self._sent, self._answers)

    # --- Steps ---

    def set_ceiling(self, ceiling: int, in_flight: int) -> None:
        """Apply a changed setting: a lower ceiling takes effect at once; towards a higher one, the limit grows."""
        ceiling = max(1, ceiling)
        if ceiling == self.ceiling:
            return
        self.ceiling = ceiling
        starts_over = self.slow_start and not self.is_careful
        start = max(self.limit, MIN_START, ceiling // START_SHARE) if starts_over else self.limit
        self.limit = min(start, ceiling)
        self._shrunk_from = self._grown_from = None
        now = self.clock()
        self._begin_limit(now)
        self.changes.append((now, self.limit, in_flight, SETTING, None))

    def take_changes(self) -> list[Change]:
        """The changes since the last call."""
        changes, self.changes = self.changes, []
        return changes

    def _grow(self, now: float, in_flight: int, slowest: float) -> None:
        grown = self.limit * 2 if self.slow_start else max(math.ceil(self.limit * GROWTH), self._known_good)
        if self.is_careful:
            room = math.floor(self.limit * TIMEOUT_SHARE * self.timeout / max(slowest, 0.001))
            grown = max(self.limit, min(grown, room))
        before, rate = self.limit, self._rate(now)
        self._set(min(grown, self.ceiling), now, in_flight, GREW)
        if self.limit > before:
            self._begin_limit(now)
            self._peak = in_flight
            # A twentieth more is too little for a difference to be seen.
            self._grown_from = (before, rate) if self.is_careful and self.slow_start else None

    def _take_back(self, now: float, in_flight: int) -> None:
        if self._shrunk_from is not None:
            self._set(min(self._shrunk_from, self.ceiling), now, in_flight, GREW)
            self.slow_start = self._was_slow
        self._shrunk_from, self._taken_back = None, True

    def _shrink(self, now: float, in_flight: int, wait: float | None) -> None:
        self._known_good, self._grown_from = 0, None
        self._set(max(1, math.floor(self.limit * SHRINK)), now, in_flight, RATE_LIMITED, wait)
        self._begin_limit(now)

    def _set(self, limit: int, now: float, in_flight: int, cause: str, wait: float | None = None) -> None:
        if limit != self.limit:
            self.limit = limit
            self.changes.append((now, limit, in_flight, cause, wait))


WIDTH, HEIGHT, MARGIN = 600, 120, 6
MARKED = {RATE_LIMITED, TIMED_OUT, "setting", "start"}


def lay_out_limits(
    steps: Sequence[tuple[datetime.datetime, int, str]], *, until: datetime.datetime | None = None
) -> dict[str, object] | None:
    """A line of steps from 0 at the bottom to the highest limit at the top, drawn up to ``until``; ``None`` if there are no
    steps.

    Each step has a time, the limit from then on, and its cause. ``marks`` are the steps that were not caused by growth.
    """
    if not steps:
        return None
    first_at, first, _ = steps[0]
    last_at, last, _ = steps[-1]
    last_at = max(last_at, until or last_at)
    span = max((last_at - first_at).total_seconds(), 0.001)
    highest = max(limit for _, limit, _ in steps)

    def place(at: datetime.datetime, limit: int) -> tuple[str, str]:
        along = (at - first_at).total_seconds() / span
        up = limit / max(highest, 1)
        return f"{MARGIN + along * (WIDTH - 2 * MARGIN):.1f}", f"{HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN):.1f}"

    places = [place(at, limit) for at, limit, _ in steps]
    path = f"M{places[0][0]},{places[0][1]}" + "".join(f"H{x}V{y}" for x, y in places[1:]) + f"H{WIDTH - MARGIN}"
    marks = [
        {"x": x, "y": y, "cause": cause}
        for (_, _, cause), (x, y) in zip(steps[1:], places[1:], strict=True)
        if cause in MARKED
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "path": path,
        "marks": marks,
        "first": first,
        "highest": highest,
        "last": last,
        "first_at": first_at,
        "last_at": last_at,
        "rate_limits": sum(cause == RATE_LIMITED for _, _, cause in steps),
        "time_outs": sum(cause == TIMED_OUT for _, _, cause in steps),
    }


CELLS_IN_A_ROW = 5
TURNED_AWAY_IN_A_ROW = 3
MIN_WAIT = 1.0
MAX_WAIT = 60.0


class Outage:
    """The silence of one queue's server. ``silent_for``: for how many seconds it has been silent; ``wait``: for how long it must
    not be asked."""

    def __init__(
        self, *, silent_for: float | None = None, wait: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        now = clock()
        self.is_away = silent_for is not None
        self.since: float | None = None if silent_for is None else now - max(0.0, silent_for)
        self._next_try = now + max(0.0, wait) if self.is_away else -math.inf
        self._away_from = now
        self._is_probing = False
        self._cells: set[int] = set()
        self._turned_away = 0

    def may_send(self) -> bool:
        """Whether a call may be sent now."""
        return not self.is_away or (not self._is_probing and self.clock() >= self._next_try)

    def seconds_to_wait(self) -> float:
        """For how long nothing may be sent."""
        return max(0.0, self._next_try - self.clock()) if self.is_away else 0.0

    def silent_seconds(self) -> float:
        """For how long the server has been silent; 0 if it is not."""
        return self.clock() - self.since if self.is_away and self.since is not None else 0.0

    def note_sent(self) -> None:
        """Note that a call was sent."""
        self._is_probing = self.is_away

    def note_life(self) -> None:
        """Note an answer or a refusal, which shows that the server is reachable."""
        self.is_away = self._is_probing = False
        self.since, self._turned_away = None, 0
        self._cells.clear()

    def note_silence(
        self, cell_id: int, sent_at: float, *, is_turned_away: bool, retry_after: float | None = None
    ) -> None:
        """Note that a call sent at ``sent_at`` (by this clock) brought no answer. ``is_turned_away``: nothing was processed."""
        now = self.clock()
        self.since = now if self.since is None else self.since
        self._cells.add(cell_id)
        self._turned_away = self._turned_away + 1 if is_turned_away else 0
        if not self.is_away:
            self.is_away = len(self._cells) >= CELLS_IN_A_ROW or self._turned_away >= TURNED_AWAY_IN_A_ROW
            self._away_from = now
        elif sent_at >= self._away_from:
            self._is_probing = False
        if self.is_away:
            wait = max(min(max(now - self.since, MIN_WAIT), MAX_WAIT), min(retry_after or 0.0, MAX_WAIT))
            self._next_try = max(self._next_try, now + wait)

    def try_now(self) -> None:
        """Ask the server at once, because a person wants the batch to continue."""
        self._next_try = -math.inf
