"""Writers of one process take turns at SQLite."""

import threading
from contextlib import closing

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

from auditapp.site.sqlite_queue import base


@pytest.fixture
def two_writers(db, tmp_path, monkeypatch):
    """Two connections to one file, which SQLite itself refuses at once when it is locked."""
    monkeypatch.setattr(base, "PATIENCE_SECONDS", 0.3)
    options = {"transaction_mode": "IMMEDIATE", "timeout": 0}
    given = {"ENGINE": "auditapp.site.sqlite_queue", "NAME": str(tmp_path / "small.sqlite3"), "OPTIONS": options}
    handler = ConnectionHandler({"default": dict(given), "other": dict(given)})
    with closing(handler["default"]), closing(handler["other"]):
        handler["default"].inc_thread_sharing()
        yield [handler["default"], handler["other"]]


def begin(connection):
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_the_next_writer_goes_on_when_a_transaction_ends(two_writers, end):
    first, second = two_writers
    begin(first)
    with first.cursor() as cursor:
        cursor.execute("CREATE TABLE coding (id integer)")
    threading.Timer(0.05, getattr(first, end)).start()
    # SQLite would refuse at once: it is told not to wait.
    begin(second)
    second.rollback()


def test_who_waits_too_long_gets_the_answer_of_sqlite(two_writers):
    first, second = two_writers
    begin(first)
    with pytest.raises(OperationalError, match="database is locked"):
        begin(second)
    first.rollback()
    begin(second)
    second.rollback()
