"""Read from one snapshot of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Everything read inside comes from one snapshot, taken at the first read; do not write inside.

    It blocks no writer, however long it takes. Inside a transaction that has already begun, the rules of that one apply.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            _execute(ONE_MOMENT)
            yield
    else:
        # By hand: a transaction of Django's would keep everybody else from writing here (``transaction_mode``).
        _execute("BEGIN")
        try:
            yield
        finally:
            _execute("ROLLBACK")


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
