"""Databases for tests: migrated once a run, and holding what a test asks for before it begins.

The first process that needs one migrates an empty database, the template of the run; everything else is a copy. On SQLite
the template is kept for later runs, until something changes that it is made of.

A fixture that only stores rows is written with ``stored`` instead of ``pytest.fixture``. For each set of such fixtures that
tests ask for, their rows are committed once to a copy of the template. A test runs in the copy that holds exactly
what it asks for, in a transaction that is rolled back, and its fixtures fetch their rows. A test that commits for
itself (``transaction=True``) gets a copy of its own, which is thrown away.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import pickle
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Model
from pytest_django.plugin import blocking_manager_key

RUN_FOLDER = "AUDITAPP_TEST_RUN"
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".pytest_cache"
IMPORTED = re.compile(r"^\s*(?:from|import) ((?:transcripts|auditapp)\.[\w.]+)", re.MULTILINE)


@dataclass(frozen=True)
class Stored:
    """A fixture whose rows are committed once: its name, what makes it, and the fixtures it needs."""

    name: str
    make: Callable[..., Model]
    needs: tuple[str, ...]


# By the function that pytest calls; the order is that of definition, in which they are made.
_stored: dict[Any, Stored] = {}


def stored(make: Callable[..., Model]) -> Any:
    """Declare a fixture that only stores rows and returns one of them. It may need others of its kind, and no others."""
    signature = inspect.signature(make)
    own = Stored(make.__name__, make, tuple(signature.parameters))

    def fetch(**needs: Any) -> Model:
        needs.pop("db")
        row = databases.find(own)
        return own.make(**needs) if row is None else row

    fetch.__name__, fetch.__doc__, fetch.__module__ = make.__name__, make.__doc__, make.__module__
    database = inspect.Parameter("db", inspect.Parameter.KEYWORD_ONLY)
    needs = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()]
    fetch.__signature__ = inspect.Signature([*needs, database])  # type: ignore[attr-defined]
    _stored[fetch] = own
    return pytest.fixture(fetch)


@dataclass
class Database:
    """A database of this process: its name, a connection to it, and the rows it holds.

    On SQLite the connection keeps the database alive; on PostgreSQL it saves the next test that uses it from connecting.
    """

    name: str
    keeper: Any = None
    rows: dict[Stored, tuple[type[Model], Any]] = field(default_factory=dict)
    # The columns of a row as it was first fetched, pickled, and on SQLite the count of changes when the test at hand began.
    fetched: dict[Stored, bytes] = field(default_factory=dict)
    changes: int = -1


class Databases:
    """The databases of this process, of which Django's default connection uses one."""

    def __init__(self) -> None:
        self.by_content: dict[tuple[Stored, ...], Database] = {}
        self.own_copy: Database | None = None
        self.current: Database | None = None
        self.wanted: tuple[tuple[Stored, ...], bool] = ((), False)
        self.made = 0

    def open(self) -> None:
        """Make the first database, a copy of the template, and use what the test at hand wants."""
        template = ensure_template()
        if is_postgres():
            self.by_content[()] = self.copy(Database(template))
        else:
            first = self.by_content[()] = self.create()
            with closing(sqlite3.connect(template)) as file:
                file.backup(first.keeper)
        self.use_wanted()

    def close(self) -> None:
        # On a server they are left: it ends with the run, or ``drop_databases`` removes them from one that does not.
        for database in [*self.by_content.values(), self.own_copy]:
            if database is not None and database.keeper is not None:
                database.keeper.close()
        if is_postgres():
            connection.close()
        connection.connection = None

    def choose(self, item: pytest.Item) -> None:
        """Use the database that holds what the test's fixtures store, and nothing else."""
        commits = "transactional_db" in getattr(item, "fixturenames", ())
        for marker in item.iter_markers("django_db"):
            commits = commits or marker.kwargs.get("transaction", False)
        self.wanted = find_content(item), commits
        if self.current is not None:
            with item.config.stash[blocking_manager_key].unblock():
                self.use_wanted()

    def find(self, fixture: Stored) -> Model | None:
        """The row of a fixture, fresh from the database, or None when the test's database does not hold it."""
        if self.current is None or fixture not in self.current.rows:
            return None
        model, key = self.current.rows[fixture]
        if is_postgres() or connection.connection.total_changes != self.current.changes:
            return model._base_manager.get(pk=key)
        # The test has written nothing yet, so the row is what it was for the test before; a query takes ten times as long.
        names = [column.attname for column in model._meta.concrete_fields]
        if fixture not in self.current.fetched:
            row = model._base_manager.get(pk=key)
            self.current.fetched[fixture] = pickle.dumps([getattr(row, name) for name in names])
        return model.from_db("default", names, pickle.loads(self.current.fetched[fixture]))

    def use_wanted(self) -> None:
        content, commits = self.wanted
        if self.own_copy is not None:
            self.use(self.by_content[()])
            self.discard(self.own_copy)
            self.own_copy = None
        database = self.by_content.get(content) or self.fill(content)
        if commits:
            self.own_copy = database = self.copy(database)
        self.use(database)

    def fill(self, content: tuple[Stored, ...]) -> Database:
        """Copy the database that holds most of ``content``, and store the rest in the copy."""
        begun = next(content[:length] for length in range(len(content), -1, -1) if content[:length] in self.by_content)
        database = self.copy(self.by_content[begun])
        self.use(database)
        around = transaction.atomic()
        # Like the transaction of a test, it is none of an act.
        around._from_testcase = True  # type: ignore[attr-defined]
        with around:
            for fixture in content[len(begun) :]:
                needed = {each.name: self.find(each) for each in database.rows if each.name in fixture.needs}
                row = fixture.make(**needed)
                database.rows[fixture] = type(row), row.pk
            # What waits for the commit does not run, as in the transaction of a test.
            connection.run_on_commit = []
        self.by_content[content] = database
        return database

    def create(self) -> Database:
        """An empty database in memory."""
        self.made += 1
        database = Database(f"file:tests_{self.made}?mode=memory&cache=shared")
        use_sqlite(database)
        connection.connect()
        database.keeper = connection.connection
        return database

    def copy(self, source: Database) -> Database:
        if not is_postgres():
            copy = self.create()
            source.keeper.backup(copy.keeper)
        else:
            self.made += 1
            copy = Database(f"{prefix()}_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{self.made}")
            # A database with a connection to it cannot be copied.
            self.leave()
            if source.keeper is not None:
                source.keeper.close()
                source.keeper = None
            run_on_server(f'CREATE DATABASE "{copy.name}" TEMPLATE "{source.name}"')
        copy.rows.update(source.rows)
        return copy

    def use(self, database: Database) -> None:
        if is_postgres():
            if connection.settings_dict["NAME"] != database.name:
                self.leave()
                connection.settings_dict["NAME"] = database.name
                connection.connection, database.keeper = database.keeper, None
        else:
            use_sqlite(database)
        self.current = database

    def leave(self) -> None:
        """Put the open connection to a database on a server aside, for the next test that uses it."""
        if self.current is None:
            connection.close()
        elif connection.connection is not None:
            self.current.keeper, connection.connection = connection.connection, None

    def discard(self, database: Database) -> None:
        if database.keeper is not None:
            database.keeper.close()
        if is_postgres():
            if database is self.current:
                connection.close()
            run_on_server(f'DROP DATABASE "{database.name}" WITH (FORCE)')


databases = Databases()


@contextmanager
def second_writer(folder: Path) -> Iterator[Callable[[], None]]:
    """What saves something on a connection of its own: the test goes on in a copy on disk, for in memory connections share
    their locks. On SQLite, and for a test that commits for itself."""
    before, file = databases.current, folder / "second.sqlite3"
    assert before is not None
    with closing(sqlite3.connect(file)) as copy:
        connection.connection.backup(copy)
    use_sqlite(Database(str(file)))
    connection.connect()
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as writer:

            def save() -> None:
                writer.execute("UPDATE accounts_user SET first_name = first_name || 'x'")

            yield save
    finally:
        connection.connection.close()
        use_sqlite(before)


def find_content(item: pytest.Item) -> tuple[Stored, ...]:
    """The stored fixtures of a test, without those that depend on one it has overridden."""
    definitions = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    asked = {each[-1].func for each in definitions.values()}
    content: list[Stored] = []
    for function, fixture in _stored.items():
        if function in asked and set(fixture.needs) <= {each.name for each in content}:
            content.append(fixture)
    return tuple(content)


def use_sqlite(database: Database) -> None:
    connection.settings_dict["NAME"] = database.name
    connection.connection = database.keeper
    database.changes = database.keeper.total_changes if database.keeper else -1


def is_postgres() -> bool:
    return os.environ.get("DATABASE_URL", "").startswith("postgres")


def prefix() -> str:
    """How the names of this run's databases on a server begin."""
    return "test_" + Path(os.environ[RUN_FOLDER]).name.rpartition("-")[2].lower()


def run_on_server(statement: str) -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        server.execute(statement.encode())


def drop_databases() -> None:
    """For a server that outlives the run: leave nothing on it."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        found = server.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [f"{prefix()}_"])
        for (name,) in found.fetchall():
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def ensure_template() -> str:
    """The file (SQLite) or the name (PostgreSQL) of the run's migrated database, made by whichever process comes first."""
    folder = Path(os.environ[RUN_FOLDER])
    with (folder / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = folder / "template.sqlite3"
        if not made.exists():
            before = connection.settings_dict["NAME"], connection.connection
            _make_template(made)
            connection.settings_dict["NAME"], connection.connection = before
    return f"{prefix()}_template" if is_postgres() else str(made)


def _make_template(file: Path) -> None:
    if is_postgres():
        name = f"{prefix()}_template"
        run_on_server(f'CREATE DATABASE "{name}"')
        connection.connection = None
        connection.settings_dict["NAME"] = name
        _migrate()
        connection.close()
        file.touch()
        return
    kept = KEPT / f"template-{name_template()}.sqlite3"
    if not kept.exists():
        _migrate_file(kept)
    shutil.copy(kept, file)


def _migrate_file(kept: Path) -> None:
    memory = Databases().create()
    _migrate()
    KEPT.mkdir(exist_ok=True)
    unfinished = KEPT / f"{Path(os.environ[RUN_FOLDER]).name}.part"
    with closing(sqlite3.connect(unfinished)) as copy:
        memory.keeper.backup(copy)
    memory.keeper.close()
    for outdated in KEPT.glob("template-*.sqlite3"):
        outdated.unlink(missing_ok=True)
    unfinished.rename(kept)


def name_template() -> str:
    """A hash of all that a migrated database is made of: migrations, what they import, models and installed packages."""
    product = [path for room in ("transcripts", "auditapp") for path in (ROOT / room).rglob("*.py")]
    migrations = [path for path in product if "migrations" in path.parts]
    imported = {name for path in migrations for name in IMPORTED.findall(path.read_text(encoding="utf-8"))}
    made_of = {ROOT / "requirements" / "dev.txt", ROOT / "auditapp" / "settings.py", *migrations}
    made_of |= {path for path in product if path.stem == "models" or "models" in path.parts}
    made_of |= {path for path in product if ".".join(path.relative_to(ROOT).with_suffix("").parts) in imported}
    digest = hashlib.sha256(sqlite3.sqlite_version.encode())
    for path in sorted(made_of):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
