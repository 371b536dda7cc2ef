"""The doctor names what is wrong and what to do, changes nothing, and tells no secret."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from kombu import Connection

from auditapp.batches.models import Batch, Tick, WorkerSign
from auditapp.batches.runner import tasks
from auditapp.llm.models import ProviderAccount
from auditapp.operations import actions, health
from tests.auditapp.operations.test_backup import leave_remains
from tests.conftest import make_user
from tests.support.databases import is_postgres
from tests.support.whole_study import add_batch
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.jobs.models import ImportJob

CHECK_POSTGRES = health._check_postgres


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def ask():
    return {finding.name: finding for finding in health.examine()}


def let_a_worker_live(problem=""):
    now = timezone.now()
    WorkerSign.objects.create(name="here:1", seen_at=now, started_at=now, queues=1, problem=problem)


def add_event(action, at):
    when = timezone.now() + at
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transcripts.audit_trail.trail.timezone.now", lambda: when)
        trail.record(action, target="site", by=trail.SYSTEM)


@pytest.fixture(autouse=True)
def _a_site_of_its_own(settings, tmp_path, monkeypatch):
    settings.SPOOL_FOLDER = tmp_path
    # The tests' own databases are in memory, or write without waiting for the disk.
    monkeypatch.setattr(health, "_check_sqlite", lambda: "SQLite")
    monkeypatch.setattr(health, "_check_postgres", lambda: "PostgreSQL")


def test_a_site_in_order_passes_and_nothing_is_changed(study):
    let_a_worker_live()
    add_event(actions.BACKED_UP, datetime.timedelta(0))
    before = AuditEvent.objects.count(), Tick.objects.count()
    findings = ask()
    assert {finding.state for finding in findings.values()} == {"ok"}, findings
    assert (AuditEvent.objects.count(), Tick.objects.count()) == before


def fill_disk(patch, settings, study):
    patch.setattr(shutil, "disk_usage", lambda _: Disk(10**12, 10**12, 10**6))


def leave_little_room(patch, settings, study):
    patch.setattr(shutil, "disk_usage", lambda _: Disk(10**12, 10**12, 5 * 10**10))


def take_away_redis(patch, settings, study):
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    there = Connection(settings.REDIS_URL, connect_timeout=1, transport_options=tasks.AT_ONCE)
    patch.setattr(tasks, "connect_at_once", lambda: there)


def serve_without_encryption(patch, settings, study):
    settings.BASE_URL = "http://coding.example.org"


def misspell(patch, settings, study):
    patch.setenv("BASE_URI", "x")


def refuse_writes(patch, settings, study):
    def refuse(*_, **__):
        raise DatabaseError("attempt to write a readonly database: hidden row")

    patch.setattr(Tick.objects, "bulk_create", refuse)


def come_from_the_future(patch, settings, study):
    add_event("x", datetime.timedelta(hours=1))


def have_no_worker_for_an_import(patch, settings, study):
    WorkerSign.objects.all().delete()
    now = timezone.now()
    ImportJob.objects.create(
        study=study,
        kind="interviews",
        check_only=False,
        asked_by=User.objects.get(username="owner"),
        asked_at=now,
        touched_at=now,
        state=ImportJob.State.WAITING,
    )


def have_no_worker(patch, settings, study):
    WorkerSign.objects.all().delete()


def hinder_the_worker(patch, settings, study):
    WorkerSign.objects.update(problem="The disk is full.")


def leave_an_answer(patch, settings, study):
    file = Path(settings.SPOOL_FOLDER) / "runner.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    long_ago = time.time() - 3_600
    os.utime(file, (long_ago, long_ago))


def change_the_field_key(patch, settings, study):
    ProviderAccount.objects.create(
        name="Paid", provider="openai_compatible", key_sealed="gAAAAABhidden", created_at=timezone.now()
    )


def seal_a_second_factor_with_another_key(patch, settings, study):
    Authenticator.objects.create(
        user=make_user("locked-out"), type=Authenticator.Type.TOTP, data={"secret": "gAAAAABhidden"}
    )


def have_an_old_backup(patch, settings, study):
    add_event(actions.BACKED_UP, datetime.timedelta(days=-30))


def leave_a_backup_half_made(patch, settings, study):
    add_event(actions.BACKED_UP, datetime.timedelta(0))
    settings.DATA = settings.SPOOL_FOLDER
    leave_remains(settings.DATA)


def break_the_trail(patch, settings, study):
    patch.setattr("auditapp.batches.ledger.verify.verify_streams", lambda: [("site", 9, 4)])


def get_stuck(patch, settings, study):
    batch = add_batch(study, "sob", 1).cell.batch
    Batch.objects.filter(pk=batch.pk).update(spent_nano=5, cap_nano=1)


@pytest.mark.parametrize(
    ("break_it", "name", "state", "words"),
    [
        (fill_disk, "disk", "wrong", "Make room for at least"),
        (leave_little_room, "disk", "warning", "Only 50.0 of 1,000.0 GB"),
        (take_away_redis, "broker", "wrong", "Until then people can code"),
        (serve_without_encryption, "settings", "wrong", "proxy with TLS"),
        (misspell, "settings", "warning", "did you mean BASE_URL"),
        (refuse_writes, "database", "wrong", "accepts no writes"),
        (come_from_the_future, "clock", "wrong", "a clock was set back"),
        (have_no_worker_for_an_import, "worker", "wrong", "1 queues and imports wait"),
        (have_no_worker, "worker", "warning", "nothing waits"),
        (hinder_the_worker, "worker", "wrong", "The disk is full."),
        (leave_an_answer, "spool", "wrong", "they were paid for"),
        (change_the_field_key, "keys", "wrong", "stored keys of Paid"),
        (seal_a_second_factor_with_another_key, "keys", "wrong", "second factor of locked-out"),
        (have_an_old_backup, "backup", "warning", "30 days old"),
        (leave_a_backup_half_made, "backup", "warning", "unencrypted copies of the database are left"),
        (break_the_trail, "trail", "wrong", "from event 4"),
        (get_stuck, "batches", "wrong", "its cap is 1"),
    ],
)
def test_each_fault_is_named_with_what_to_do(study, monkeypatch, settings, break_it, name, state, words):
    let_a_worker_live()
    break_it(monkeypatch, settings, study)
    finding = ask()[name]
    assert finding.state == state, finding
    assert words in f"{finding.found} {finding.advice}"
    assert "hidden" not in f"{finding.found} {finding.advice}"


def test_only_what_was_committed_counts_as_a_write(study):
    """On a full disk SQLite takes everything until the commit."""
    with CaptureQueriesContext(connection) as asked:
        health._check_database()
    kinds = [query["sql"].split()[0] for query in asked.captured_queries]
    assert kinds.count("INSERT") == kinds.count("DELETE") == 1
    assert not Tick.objects.filter(name="doctor").exists()


def test_a_newer_or_older_database_is_told(study):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('corpus', '9999_of_the_future', %s)",
            [timezone.now()],
        )
    assert "A newer release has migrated this database (corpus.9999_of_the_future)" in ask()["migrations"].found
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE name LIKE '9999%%' OR app = 'jobs'")
    finding = ask()["migrations"]
    assert "migrations are missing, such as " in finding.found
    assert "run manage.py migrate" in finding.advice


@pytest.mark.skipif(not is_postgres(), reason="a server that does not wait for its disk")
@pytest.mark.django_db
def test_a_server_that_may_lose_stored_work_is_told():
    with pytest.raises(health._Wrong, match="may lose stored work when the power fails"):
        CHECK_POSTGRES()


def test_the_command_ends_with_1_when_something_is_wrong(study, monkeypatch, settings, capsys):
    call_command("doctor")
    assert "0 wrong, 2 to look at" in capsys.readouterr().out
    leave_an_answer(monkeypatch, settings, study)
    with pytest.raises(SystemExit, match="1"):
        call_command("doctor", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert [check["name"] for check in told["checks"] if check["state"] == "wrong"] == ["spool"]
    call_command_without_trail = ["doctor", "--json", "--without-trail"]
    with pytest.raises(SystemExit):
        call_command(*call_command_without_trail)
    assert "trail" not in {check["name"] for check in json.loads(capsys.readouterr().out)["checks"]}


@pytest.mark.processes
@pytest.mark.skipif(is_postgres(), reason="a file of SQLite")
def test_a_damaged_file_of_sqlite_is_found(instance):
    assert "its pages are in order" in instance.manage("doctor")
    file = instance.folder / "auditapp.sqlite3"
    instance.write(["PRAGMA wal_checkpoint(TRUNCATE)"])
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(b"\xff" * 20_000)
    answer = instance.run("doctor", "--json")
    assert answer.returncode == 1
    [database] = [check for check in json.loads(answer.stdout)["checks"] if check["name"] == "database"]
    assert database["state"] == "wrong"
    assert "Traceback" not in answer.stderr
