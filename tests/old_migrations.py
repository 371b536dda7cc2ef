"""Databases as versions from before the squashed migrations left them: migrated by the originals these replace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import create_database
from tests.instance import Instance

MIGRATE = """
import sys
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)
replacements = executor.loader.replacements
targets = [tuple(name.split(".")) for name in sys.argv[1:]]
if not targets:
    originals = {key for replacement in replacements.values() for key in replacement.replaces}
    before = {(room, name) for key in originals for room, name in executor.loader.disk_migrations[key].dependencies}
    targets = sorted(originals - before)
executor.migrate(targets)
for key in replacements:
    executor.recorder.record_unapplied(*key)
"""


@contextmanager
def unmigrated_instance(folder: Path) -> Iterator[Instance]:
    """An instance with an empty database of the session's kind."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield Instance(folder)
        return
    with create_database(url) as own:
        yield Instance(folder, database_url=own)


def migrate_originals(instance: Instance, *targets: str) -> None:
    """Migrate forwards or backwards to ``targets`` (``room.name``; without any, to the last originals).

    Afterwards the database knows nothing of the squashed migrations.
    """
    instance.run_code(MIGRATE, *targets)
