"""The ledger's clock is the database's: clocks of machines differ, and a lease must mean the same to all of them.

With SQLite there is only one machine.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

from django.db import connection
from django.utils import timezone


def read_now() -> datetime.datetime:
    """The time by the database: one small statement on PostgreSQL, none on SQLite.

    The time of the statement, not of the transaction, which would not advance while it waits for a lock.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime.datetime = cursor.fetchone()[0]
    return now


class LedgerClock:
    """The database's time without a query each time: read now and then, continued by the monotonic clock."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.monotonic = monotonic
        self._anchor: tuple[datetime.datetime, float] | None = None

    def learn(self) -> datetime.datetime:
        """Read the database's time. Counted from before the query, so that this clock is never behind the database's."""
        asked_at = self.monotonic()
        now = read_now()
        self._anchor = (now, asked_at)
        return now

    def now(self) -> datetime.datetime:
        """The ledger's time now."""
        return self.at(self.monotonic())

    def at(self, moment: float) -> datetime.datetime:
        """The ledger's time at a moment of the monotonic clock."""
        if self._anchor is None:
            raise RuntimeError("the ledger's clock was read before it was learnt")
        then, asked_at = self._anchor
        return then + datetime.timedelta(seconds=moment - asked_at)
