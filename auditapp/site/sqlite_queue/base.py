"""SQLite as this site needs it: writers take turns, and the standard deviation of a single value is unknown.

Transactions of one process take turns by a lock instead of polling for SQLite's own lock. SQLite lets in one writer at a time; the
others try again after increasingly long sleeps, so that under load an unlucky writer may wait for seconds. With twenty coders at
once, the slowest save took 2.8 s, and in this queue 0.3 to 0.7 s. Writers of other processes still compete for SQLite's lock.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import threading
from collections import defaultdict
from typing import Any

from django.db.backends.sqlite3 import base

# SQLite itself waits for this long. After this time, a transaction tries to begin without its turn.
PATIENCE_SECONDS = 20

# The lock of each database file in this process. A child process begins with new locks.
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
os.register_at_fork(after_in_child=_locks.clear)


class SampleDeviation(list[float]):
    """STDDEV_SAMP that is NULL for fewer than two values, as on PostgreSQL; Django's own raises an error for these."""

    step = list.append

    def finalize(self) -> float | None:
        """The standard deviation of the sample, or ``None`` for fewer than two values."""
        values = [value for value in self if value is not None]
        return statistics.stdev(values) if len(values) > 1 else None


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions wait for their turn."""

    _lock: threading.Lock | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> sqlite3.Connection:
        """A connection in which this aggregate replaces Django's."""
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.create_aggregate("STDDEV_SAMP", 1, SampleDeviation)  # type: ignore[arg-type]
        return connection

    def _start_transaction_under_autocommit(self) -> None:
        self._end_turn()
        lock = _locks[str(self.settings_dict["NAME"])]
        if lock.acquire(timeout=PATIENCE_SECONDS):
            self._lock = lock
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._end_turn()
            raise

    def _end_turn(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()
