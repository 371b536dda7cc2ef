"""Back up a site while it is in use, and restore it into an empty place.

A backup is a file that contains the hash of each of its parts. The database is copied while people work.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.db import Error as DatabaseFailure
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader

from auditapp.batches.actions import pause_batches
from auditapp.batches.models import Batch
from auditapp.site.environment import make_data_folder, mark_data_folder
from transcripts.audit_trail import trail
from transcripts.exchange.actions import hash_file
from transcripts.refusals import Refused

BACKED_UP = "site.backed_up"
# A room of the versions before release 1.0, whose tables have other names now.
FORMER_ROOM = "projects"
MOVE_STUDIES = (
    "Use the version that made it to export each study as a REFI-QDA project and its codebook, then import both here."
)


def is_older_than_release(rooms: Iterable[str]) -> bool:
    """Whether a database with these migrations was made before release 1.0."""
    return FORMER_ROOM in set(rooms)


def back_up(file: Path) -> dict[str, Any]:
    """Write a backup to ``file`` and return its manifest. People and workers go on meanwhile. Raises ``Refused``."""
    refuse_place(file)
    for left in find_leftovers(file.parent):
        remove(left)
    with written_whole(file) as partial, make_folder(file.parent) as folder:
        # Answers wait in the spool until they are in the database: copied in this order, none is missing from both.
        files = folder / "files"
        files.mkdir()
        copy_files(settings.DATA, files)
        copy = folder / "database"
        try:
            stored_as, held = copy_database(copy)
        except sqlite3.Error as error:
            raise Refused(
                f"The database cannot be copied ({error}), so there is no backup. Make room on its disk, where SQLite creates "
                "temporary files, and where the backup is written."
            ) from None
        manifest = {"made_at": datetime.datetime.now(datetime.UTC).isoformat(), "release": find_release(), **held}
        write_archive(partial, database=copy, stored_as=stored_as, files=files, manifest=manifest)
    try:
        _record_backup(file, manifest)
    except DatabaseFailure as error:
        raise Refused(
            f"{file} is a complete backup and can be restored. The backup is not recorded, because the database accepts no writes "
            f"({error}): make room on its disk."
        ) from None
    return manifest


@transaction.atomic
def _record_backup(file: Path, manifest: dict[str, Any]) -> None:
    details: dict[str, object] = {
        "sha256": hash_file(file),
        "bytes": file.stat().st_size,
        "rows": sum(manifest["counts"].values()),
        "release": manifest["release"],
        "folder": str(file.parent),
    }
    trail.record(BACKED_UP, target="site", by=trail.SYSTEM, details=details)


def refuse_place(file: Path) -> None:
    """Raise ``Refused`` if no new file can be written at this place."""
    if file.exists():
        raise Refused(f"{file} exists. Name a new file, or delete that one.")
    if not file.parent.is_dir():
        raise Refused(f"There is no folder {file.parent}. Create it, or name another file.")


def write_keys(file: Path) -> None:
    """Write the keys of the site to ``file``, as environment variables. Only the owner of the file can read it."""
    refuse_place(file)
    with written_whole(file) as partial:
        lines = f"SECRET_KEY={settings.SECRET_KEY}\nFIELD_KEY={','.join(settings.FIELD_KEYS)}\n"
        partial.write_text(lines, encoding="ascii")


def restore(file: Path) -> dict[str, Any]:
    """Restore a backup into an empty place, and return its manifest. Raises ``Refused`` before anything is written,
    unless the database itself fails.

    A database of an older release is migrated. Batches are paused, because answers that arrived after the backup are not in it.
    """
    manifest = read_manifest(file)
    make_data_folder(settings.DATA)
    refuse_what_is_not_empty()
    _refuse_other_releases(file, manifest)
    for left in find_leftovers(settings.DATA):
        remove(left)
    with make_folder(settings.DATA) as folder:
        copy = folder / "database"
        extract(file, manifest["database"], copy)
        load_database(copy)
    for name in manifest["sha256"]:
        if name.startswith(FILES):
            extract(file, name, settings.DATA / name.removeprefix(FILES))
    compare(manifest)
    call_command("migrate", verbosity=0, interactive=False)
    mark_data_folder()
    return manifest | {"batches_paused": _pause_batches(manifest)}


def refuse_what_is_not_empty() -> None:
    """Raise ``Refused`` if there is already data where the backup is to be restored."""
    if connection.introspection.table_names():
        raise Refused(
            f"{name_database()} already contains tables. A backup can be restored only into an empty database. Set AUDITAPP_DATA "
            "(or DATABASE_URL) to a new place, or move the existing data away."
        )
    for name in FOLDERS:
        if any(each.is_file() for each in (settings.DATA / name).rglob("*")):
            raise Refused(
                f"There are files in {settings.DATA / name}. Set AUDITAPP_DATA to a new folder, or move that folder away."
            )


def compare(manifest: dict[str, Any]) -> None:
    """Raise ``Refused`` unless the database contains what the manifest lists. Checked before migrations."""
    found = describe_database()
    for part in ("counts", "migrations", "audit_heads"):
        if found[part] != manifest[part]:
            raise Refused(
                f"The restored database differs from the manifest ({part}). Do not use it: delete it, and restore another backup."
            )


def find_release() -> str:
    """The installed version; a checkout that is not installed as a package has none."""
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
    """Pause the batches that were active when the backup was made, record the restore, and return how many were paused."""
    paused = pause_batches(batches=Batch.objects.all(), by=trail.SYSTEM)
    details: dict[str, object] = {
        "made_at": manifest["made_at"],
        "release": manifest["release"],
        "heads": manifest["audit_heads"],
        "batches_paused": paused,
    }
    trail.record("site.restored", target="site", by=trail.SYSTEM, details=details)
    return paused


FORMAT = 1
FOLDER_PREFIX, PARTIAL_SUFFIX = ".backup-", ".partial"
# Between making a name and locking it passes no time to speak of.
YOUNG_SECONDS = 60
_PARTIAL = re.compile(rf"\..+\.\d+{re.escape(PARTIAL_SUFFIX)}")
MANIFEST = "manifest.json"
FILES = "files/"
# What a backup takes from the data folder in addition to the database. Keys are kept apart; the rest is made again.
FOLDERS = ("spool", "uploads")
CHUNK = 1024 * 1024
SQLITE_COPY, POSTGRES_COPY = "database.sqlite3", "database.dump"
PAGES_PER_STEP = 2_000
Query = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name in the folder of ``path``; the file appears at ``path`` only when it is completely on the disk."""
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with _locked(partial):
            yield partial
        _flush(partial)
        partial.replace(path)
        _flush(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def make_folder(parent: Path) -> Iterator[Path]:
    """A folder for copies while a backup is made."""
    with tempfile.TemporaryDirectory(dir=parent, prefix=FOLDER_PREFIX) as name, _locked(Path(name)):
        yield Path(name)


def find_leftovers(folder: Path) -> list[Path]:
    """Files left there by killed backups: no process has them locked any more."""
    if not folder.is_dir():
        return []
    folders = [each for each in folder.glob(f"{FOLDER_PREFIX}*/") if _is_ours(each)]
    partials = [each for each in folder.iterdir() if _PARTIAL.fullmatch(each.name)]
    return sorted(each for each in [*folders, *partials] if _is_left(each))


def _is_ours(folder: Path) -> bool:
    """Whether everything in a folder is from a backup or a restore, because a person may have a folder of the same name."""
    try:
        names = {each.name for each in folder.iterdir()}
    except OSError:
        return False
    return not folder.is_symlink() and all(
        name in {"database", "files"} or name.startswith("database-") for name in names
    )


def remove(left: Path) -> None:
    """Delete the files that a killed backup left."""
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    try:
        if time.time() - path.stat().st_mtime < YOUNG_SECONDS:
            return False
        with _locked(path):
            return True
    except OSError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Take a lock, which is released when this process ends. Raises ``BlockingIOError`` if another process has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def write_archive(path: Path, *, database: Path, stored_as: str, files: Path, manifest: dict[str, Any]) -> None:
    """Write the archive to ``path``: the copy of the database, every file below ``files``, and the manifest."""
    hashes = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for source in sorted(each for each in files.rglob("*") if each.is_file()):
            name = FILES + source.relative_to(files).as_posix()
            hashes[name] = _add(archive, source, name)
        hashes[stored_as] = _add(archive, database, stored_as)
        whole = {"format": FORMAT, "database": stored_as, **manifest, "sha256": hashes}
        archive.writestr(MANIFEST, json.dumps(whole, indent=1, sort_keys=True))


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a backup, after checking that each member matches its hash. Raises ``Refused``."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            if manifest.get("format") != FORMAT:
                raise Refused(
                    f"{path} has format {manifest.get('format')}, and this release reads format {FORMAT}. Restore it with "
                    "the release that made it, or a newer one."
                )
            _check_members(path, archive, manifest)
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}). Name the file of a backup.") from None
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise Refused(
            f"{path} is not a complete backup: it is damaged, cut off, or not a backup. Use another file."
        ) from None
    return manifest  # type: ignore[no-any-return]


def extract(path: Path, name: str, to: Path) -> None:
    """Write one member to the file ``to``, which only its owner can read."""
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with zipfile.ZipFile(path) as archive, archive.open(name) as source, to.open("wb") as target:
        to.chmod(0o600)
        shutil.copyfileobj(source, target, CHUNK)
        target.flush()
        os.fsync(target.fileno())


def copy_files(data_folder: Path, to: Path) -> None:
    """Copy the folders that a backup contains. If a worker deletes a file in the meantime, its answers are in the database."""
    for folder in FOLDERS:
        for source in sorted((data_folder / folder).rglob("*")):
            target = to / source.relative_to(data_folder)
            try:
                if source.is_file():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, target)
            except FileNotFoundError:
                target.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, source: Path, name: str) -> str:
    digest = hashlib.sha256()
    with source.open("rb") as stream, archive.open(name, "w", force_zip64=True) as target:
        for chunk in _read(stream):
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _check_members(path: Path, archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    hashes: dict[str, str] = manifest["sha256"]
    if {*archive.namelist()} != {MANIFEST, *hashes} or manifest["database"] not in hashes:
        raise Refused(f"{path} does not contain exactly the files that its manifest lists. Use another backup.")
    for name, expected in hashes.items():
        parts = name.split("/")
        if name != manifest["database"] and (parts[0] != "files" or parts[1] not in FOLDERS or ".." in parts):
            raise Refused(f"{path} contains {name}, which is never part of a backup. Use another backup.")
        digest = hashlib.sha256()
        with archive.open(name) as stream:
            for chunk in _read(stream):
                digest.update(chunk)
        if digest.hexdigest() != expected:
            raise Refused(f"{name} in {path} does not match its hash in the manifest. Use another backup.")


def _read(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_database(to: Path) -> tuple[str, dict[str, Any]]:
    """Copy the database to the file ``to``. Returns the name of the copy in a backup, and what the copy contains."""
    if connection.vendor == "sqlite":
        return SQLITE_COPY, _copy_sqlite(to)
    return POSTGRES_COPY, _dump_postgres(to)


def load_database(copy: Path) -> None:
    """Load ``copy`` into the database, which is empty."""
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
    """Where the database is, for a message; without the password."""
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
    """Copy in small steps within one read transaction: people can go on writing, and the copy does not have to start again
    because of that."""
    source_file = find_sqlite_file()
    if not source_file.exists():
        raise Refused(f"There is no database at {source_file}. Set AUDITAPP_DATA to the data folder of the site.")
    with closing(sqlite3.connect(source_file, isolation_level=None)) as source, closing(sqlite3.connect(to)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        source.execute("BEGIN")
        source.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES_PER_STEP, sleep=0.001)
        source.execute("COMMIT")
        # One file, without its log. The site turns the log on again when it opens the database.
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
