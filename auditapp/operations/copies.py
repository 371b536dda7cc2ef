"""Copies of the database, made while people work: of one moment, with what it holds then."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connection

from transcripts.refusals import Refused

SQLITE_COPY, POSTGRES_COPY = "database.sqlite3", "database.dump"
PAGES_PER_STEP = 2_000
Query = Callable[[str], list[tuple[Any, ...]]]


def copy_database(to: Path) -> tuple[str, dict[str, Any]]:
    """Copy the database to the file ``to``: what the copy is called in a backup, and what it holds."""
    if connection.vendor == "sqlite":
        return SQLITE_COPY, _copy_sqlite(to)
    return POSTGRES_COPY, _dump_postgres(to)


def load_database(copy: Path) -> None:
    """Make ``copy`` the database, which is empty."""
    if connection.vendor == "sqlite":
        place = find_sqlite_file()
        connection.close()
        for rest in ("-wal", "-shm"):
            place.with_name(place.name + rest).unlink(missing_ok=True)
        copy.replace(place)
        return
    connection.close()
    _run("pg_restore", ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", str(copy)])


def describe_database() -> dict[str, Any]:
    """Rows of each table, migrations and heads of the audit streams, as a manifest lists them."""
    with connection.cursor() as cursor:

        def ask(sql: str) -> list[tuple[Any, ...]]:
            cursor.execute(sql)
            return list(cursor.fetchall())

        return _describe(ask, connection.introspection.table_names(cursor))


def name_database() -> str:
    """Where the database is, for a message; without its password."""
    if connection.vendor == "sqlite":
        return str(find_sqlite_file())
    wanted = connection.settings_dict
    return f"the PostgreSQL database {wanted['NAME']} on {wanted['HOST'] or 'this machine'}"


def find_sqlite_file() -> Path:
    return Path(connection.settings_dict["NAME"])


def _describe(ask: Query, tables: list[str]) -> dict[str, Any]:
    counts = {table: ask(f'SELECT COUNT(*) FROM "{table}"')[0][0] for table in sorted(tables)}  # noqa: S608 - names of tables
    migrations = sorted(f"{app}.{name}" for app, name in ask("SELECT app, name FROM django_migrations"))
    heads = {
        stream: {"sequence": sequence, "hash": digest}
        for stream, sequence, digest in ask("SELECT stream, sequence, hash FROM audit_trail_audithead ORDER BY stream")
    }
    return {"counts": counts, "migrations": migrations, "audit_heads": heads}


def _copy_sqlite(to: Path) -> dict[str, Any]:
    """Copy in small steps within one read transaction: people go on writing, and the copy need not begin anew for it."""
    source_file = find_sqlite_file()
    if not source_file.exists():
        raise Refused(f"There is no database at {source_file}. Set AUDITAPP_DATA to the data folder of the site.")
    with closing(sqlite3.connect(source_file, isolation_level=None)) as source, closing(sqlite3.connect(to)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        source.execute("BEGIN")
        source.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES_PER_STEP, sleep=0.001)
        source.execute("COMMIT")
        # One file without a log beside it. The site turns the log on again when it opens the database.
        copy.execute("PRAGMA journal_mode=DELETE")
        if (found := copy.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise Refused(f"The database {source_file} is damaged ({found}). Restore the last good backup.")
        names = copy.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return _describe(lambda sql: copy.execute(sql).fetchall(), [name for (name,) in names.fetchall()])


def _dump_postgres(to: Path) -> dict[str, Any]:
    """Count and dump within one snapshot."""
    own = connection.copy()
    try:
        with own.cursor() as cursor:

            def ask(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql)
                return list(cursor.fetchall())

            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            snapshot = ask("SELECT pg_export_snapshot()")[0][0]
            _run("pg_dump", ["--format=custom", f"--snapshot={snapshot}", f"--file={to}"])
            found = _describe(ask, own.introspection.table_names(cursor))
            cursor.execute("COMMIT")
            return found
    finally:
        own.close()


def _run(tool: str, arguments: list[str]) -> None:
    """Run a tool of PostgreSQL on the site's database. No list of processes shows the password."""
    if shutil.which(tool) is None:
        raise Refused(
            f"{tool} is not installed here, and the database is PostgreSQL. Install the client tools of PostgreSQL "
            "(the package postgresql-client), of the server's version or newer."
        )
    wanted = connection.get_connection_params()
    variables = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "sslmode": "PGSSLMODE"}
    given = {variable: str(wanted[key]) for key, variable in variables.items() if wanted.get(key)}
    done = subprocess.run(  # noqa: S603 - a fixed tool, and names from the settings
        [tool, "--no-password", f"--dbname={wanted['dbname']}", *arguments],
        env=os.environ | given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refused(f"{tool} failed: {done.stderr.strip()[-500:] or 'it gave no reason'}")
