"""The ledger's clock: the database's, for machines disagree and a lease must mean the same to all of them.

On SQLite there is one machine, whose clock it is.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

from django.db import connection
from django.utils import timezone


def read_now() -> datetime.datetime:
    """The time by the database: one small statement on PostgreSQL, none on SQLite.

    The statement's own time, not the transaction's, which would stand still while a lock is waited for.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime.datetime = cursor.fetchone()[0]
    return now


class LedgerClock:
    """The database's time without asking it each time: learnt once in a while, carried on by the monotonic clock."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.monotonic = monotonic
        self._anchor: tuple[datetime.datetime, float] | None = None

    def learn(self) -> datetime.datetime:
        """Ask the database. Counted from before the question, so that this clock is never behind the database's."""
        asked_at = self.monotonic()
        now = read_now()
        self._anchor = (now, asked_at)
        return now

    def now(self) -> datetime.datetime:
        """The time by the ledger."""
        return self.at(self.monotonic())

    def at(self, moment: float) -> datetime.datetime:
        """The ledger's time of a moment of the monotonic clock."""
        if self._anchor is None:
            raise RuntimeError("the ledger's clock was read before it was learnt")
        then, asked_at = self._anchor
        return then + datetime.timedelta(seconds=moment - asked_at)
