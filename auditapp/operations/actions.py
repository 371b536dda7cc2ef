"""Back up a site while it is used, and restore it where nothing is."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import Error as DatabaseFailure
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader

from auditapp.batches.actions import pause_batches
from auditapp.batches.models import Batch
from auditapp.operations import archive
from auditapp.operations.archive import copy_database, describe_database, load_database, name_database
from auditapp.site.environment import make_data_folder, mark_data_folder
from transcripts.audit_trail import trail
from transcripts.refusals import Refused

BACKED_UP = "site.backed_up"
# A room of the versions before release 1.0, whose tables have other names now.
FORMER_ROOM = "projects"
MOVE_STUDIES = (
    "Use the version that made it to export each study as a REFI-QDA project and its codebook, then import both here."
)


def is_older_than_release(rooms: Iterable[str]) -> bool:
    """Whether a database with migrations of these rooms was made before release 1.0."""
    return FORMER_ROOM in set(rooms)


def back_up(file: Path) -> dict[str, Any]:
    """Write a backup to ``file`` and return its manifest. People and workers go on meanwhile. Raises ``Refused``."""
    refuse_place(file)
    for left in archive.find_leftovers(file.parent):
        archive.remove(left)
    with archive.written_whole(file) as partial, archive.make_folder(file.parent) as folder:
        # Answers wait in the spool until they are in the database: copied in this order, none is missing from both.
        files = folder / "files"
        files.mkdir()
        archive.copy_files(settings.DATA, files)
        copy = folder / "database"
        try:
            stored_as, held = copy_database(copy)
        except sqlite3.Error as error:
            raise Refused(
                f"The database cannot be copied ({error}), so there is no backup. Make room on its disk, where SQLite makes files "
                "of its own, and at the place of the backup."
            ) from None
        manifest = {"made_at": datetime.datetime.now(datetime.UTC).isoformat(), "release": find_release(), **held}
        archive.write_archive(partial, database=copy, stored_as=stored_as, files=files, manifest=manifest)
    try:
        _record_backup(file, manifest)
    except DatabaseFailure as error:
        raise Refused(
            f"{file} is a whole backup and can be restored. It is not on record, because the database takes no writes "
            f"({error}): make room on its disk."
        ) from None
    return manifest


@transaction.atomic
def _record_backup(file: Path, manifest: dict[str, Any]) -> None:
    details: dict[str, object] = {
        "sha256": archive.hash_file(file),
        "bytes": file.stat().st_size,
        "rows": sum(manifest["counts"].values()),
        "release": manifest["release"],
        "folder": str(file.parent),
    }
    trail.record(BACKED_UP, target="site", by=trail.SYSTEM, details=details)


def refuse_place(file: Path) -> None:
    """Raise ``Refused`` where no new file can be written."""
    if file.exists():
        raise Refused(f"{file} exists. Name a new file, or delete that one.")
    if not file.parent.is_dir():
        raise Refused(f"There is no folder {file.parent}. Create it, or name another file.")


def write_keys(file: Path) -> None:
    """Write the keys of the site to ``file``, in the form of variables of the environment, for its owner only."""
    refuse_place(file)
    with archive.written_whole(file) as partial:
        lines = f"SECRET_KEY={settings.SECRET_KEY}\nFIELD_KEY={','.join(settings.FIELD_KEYS)}\n"
        partial.write_text(lines, encoding="ascii")


def restore(file: Path) -> dict[str, Any]:
    """Restore a backup into an empty place, and return its manifest. Raises ``Refused`` before anything is written,
    unless the database itself fails.

    A database of an older release is migrated. Batches are paused: answers that came after the backup are not in it.
    """
    manifest = archive.read_manifest(file)
    make_data_folder(settings.DATA)
    refuse_what_is_not_empty()
    _refuse_other_releases(file, manifest)
    for left in archive.find_leftovers(settings.DATA):
        archive.remove(left)
    with archive.make_folder(settings.DATA) as folder:
        copy = folder / "database"
        archive.extract(file, manifest["database"], copy)
        load_database(copy)
    for name in manifest["sha256"]:
        if name.startswith(archive.FILES):
            archive.extract(file, name, settings.DATA / name.removeprefix(archive.FILES))
    compare(manifest)
    call_command("migrate", verbosity=0, interactive=False)
    mark_data_folder()
    return manifest | {"batches_paused": _pause_batches(manifest)}


def refuse_what_is_not_empty() -> None:
    """Raise ``Refused`` where a restore would meet data."""
    if connection.introspection.table_names():
        raise Refused(
            f"{name_database()} already contains tables. A backup can be restored only into an empty database. Set AUDITAPP_DATA "
            "(or DATABASE_URL) to a new place, or move the existing data away."
        )
    for name in archive.FOLDERS:
        if any(each.is_file() for each in (settings.DATA / name).rglob("*")):
            raise Refused(
                f"There are files in {settings.DATA / name}. Set AUDITAPP_DATA to a new folder, or move that folder away."
            )


def compare(manifest: dict[str, Any]) -> None:
    """Raise ``Refused`` unless the database holds what the manifest says, before migrations."""
    found = describe_database()
    for part in ("counts", "migrations", "audit_heads"):
        if found[part] != manifest[part]:
            raise Refused(
                f"The restored database differs from the manifest ({part}). Do not use it: delete it, and restore another backup."
            )


def find_release() -> str:
    """The installed version; a checkout that is not installed has none."""
    try:
        return version("auditapp")
    except PackageNotFoundError:
        return "not installed as a package"


def _refuse_other_releases(file: Path, manifest: dict[str, Any]) -> None:
    is_sqlite = manifest["database"].endswith(".sqlite3")
    if is_sqlite != (connection.vendor == "sqlite"):
        kind = "SQLite" if is_sqlite else "PostgreSQL"
        raise Refused(f"{file} is a backup of a {kind} database. Set DATABASE_URL to one of that kind.")
    if is_older_than_release(each.partition(".")[0] for each in manifest["migrations"]):
        raise Refused(f"{file} was made before release 1.0, whose tables have other names. {MOVE_STUDIES}")
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    own = {name.split(".")[0] for name in known}
    newer = sorted(each for each in manifest["migrations"] if each.split(".")[0] in own and each not in known)
    if newer:
        raise Refused(
            f"{file} was made by a newer release ({manifest['release']}; this one does not know the migration {newer[0]}). "
            "Install that release, then restore."
        )


@transaction.atomic
def _pause_batches(manifest: dict[str, Any]) -> int:
    """Pause what was at work when the backup was made, record the restore, and return how many were paused."""
    paused = pause_batches(batches=Batch.objects.all(), by=trail.SYSTEM)
    details: dict[str, object] = {
        "made_at": manifest["made_at"],
        "release": manifest["release"],
        "heads": manifest["audit_heads"],
        "batches_paused": paused,
    }
    trail.record("site.restored", target="site", by=trail.SYSTEM, details=details)
    return paused
