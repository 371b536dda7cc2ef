"""What is read together is of one moment, and nobody who writes waits for it."""

from contextlib import closing

import pytest
from django.db import DatabaseError, connection
from django.db.utils import ConnectionHandler

from auditapp.batches.models import Cell
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.queries import find_cell_range
from auditapp.benchmarks.sob.report import stored_reports
from auditapp.benchmarks.sob.report.stored_reports import read_snapshot
from tests.auditapp.benchmarks.sob.reports import launch

TABLE = "django_content_type"


def write(database):
    with database.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE} (app_label, model) VALUES ('snapshot', 'late')")


def count(database):
    with database.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE} WHERE app_label = 'snapshot'")
        return int(cursor.fetchone()[0])


@pytest.fixture
def two_writers(db, tmp_path, monkeypatch):
    """Two connections to one SQLite file, set up as the product's; the first is the one that snapshots are taken of."""
    options = {"transaction_mode": "IMMEDIATE", "timeout": 0, "init_command": "PRAGMA journal_mode=WAL"}
    given = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "small.sqlite3"), "OPTIONS": options}
    handler = ConnectionHandler({"default": dict(given), "other": dict(given)})
    found = [handler["default"], handler["other"]]
    with closing(found[0]), closing(found[1]):
        with found[0].cursor() as cursor:
            cursor.execute(f"CREATE TABLE {TABLE} (app_label text, model text)")
        monkeypatch.setattr(stored_reports, "connection", found[0])
        yield found


class TestOnSqlite:
    def test_what_another_writes_meanwhile_is_stored_at_once_and_not_seen(self, two_writers):
        reader, writer = two_writers
        with read_snapshot():
            assert count(reader) == 0
            write(writer)
            assert (count(writer), count(reader)) == (1, 0)
        assert count(reader) == 1

    def test_a_interpretation_that_fails_leaves_no_transaction_behind(self, two_writers):
        reader, _ = two_writers
        with pytest.raises(DatabaseError, match="nothing"), read_snapshot():
            reader.cursor().execute("SELECT * FROM nothing")
        with read_snapshot():
            assert count(reader) == 0


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite's own way is tested above")
@pytest.mark.django_db(transaction=True)
class TestOnPostgres:
    def test_what_another_writes_meanwhile_is_stored_at_once_and_not_seen(self):
        with closing(connection.copy()) as writer:
            with read_snapshot():
                assert count(connection) == 0
                write(writer)
                assert (count(writer), count(connection)) == (1, 0)
            assert count(connection) == 1

    def test_nothing_can_be_written_inside(self):
        with pytest.raises(DatabaseError, match="read-only"), read_snapshot():
            write(connection)


class TestRangeOfCells:
    def test_it_reaches_over_every_state_and_no_other_batch(self, dataset, owner):
        batches = [launch(dataset, owner)]
        variants = [arm.variant for arm in batches[0].arms.filter(task="acceptability")]
        batches.append(launch_sob(dataset=dataset, variants=variants, tasks=["acceptability"], by=owner))
        for batch in batches:
            keys = sorted(Cell.objects.filter(batch=batch).values_list("pk", flat=True))
            Cell.objects.filter(pk=keys[0]).update(state=Cell.State.FAILED)
            Cell.objects.filter(pk=keys[-1]).update(state=Cell.State.DONE)
            assert find_cell_range(batch) == (keys[0], keys[-1])

    def test_a_batch_without_cells_has_none(self, dataset, owner):
        batch = launch(dataset, owner)
        Cell.objects.filter(batch=batch).delete()
        assert find_cell_range(batch) == (0, 0)
