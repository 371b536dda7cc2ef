"""Whether a running site is in order: two checks for monitoring, and the questions of ``manage.py doctor``.

Monitoring asks whether the process is alive and whether it is ready, and strangers learn nothing else. The doctor asks one question
after the other; each is answered in a sentence.
"""

from __future__ import annotations

import datetime
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseFailure
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from auditapp.batches.ledger.leases import read_workers
from auditapp.batches.ledger.statements import find_queues_to_notify
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Tick
from auditapp.batches.pure.spool import find_disk_shortage, is_abandoned
from auditapp.llm.queries import find_broken_seals
from auditapp.operations import actions
from auditapp.operations.actions import BACKED_UP, find_sqlite_file
from auditapp.outbound.clock import read_now
from auditapp.site.environment import find_misspelt_names
from auditapp.webhooks.actions import find_broken_secrets
from transcripts.accounts.queries import find_broken_second_factors
from transcripts.audit_trail.models import AuditEvent
from transcripts.jobs.runs import find_free_jobs

NECESSARY = ("database", "migrations", "disk")
OK, WARNING, WRONG = "ok", "warning", "wrong"
TRAIL = "I7"
UNANSWERED = "The database does not answer, or accepts no writes"
MAX_CLOCK_SECONDS = 2.0
MAX_CONNECTIONS_SHARE = 0.8
LITTLE_ROOM = 0.1
BACKUP_AFTER = datetime.timedelta(days=7)
# What a dead runner has left is settled within seconds by a worker of the machine.
SETTLED_AFTER = datetime.timedelta(minutes=10)
# PRAGMA quick_check reads the whole file: some seconds per gigabyte.
CHECKED_BYTES = 4_000_000_000
MAX_TOLD = 5


@login_not_required
def livez(request: HttpRequest) -> HttpResponse:
    """200 as long as the process responds, whatever the state of the database and of the workers."""
    return HttpResponse("alive\n", content_type="text/plain; charset=utf-8")


@login_not_required
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if the database, the migrations and the disk are in order; 503 with the failing check otherwise.

    A missing worker ("silent") does not make the site unready, because people can code without one. Nor does "hindered", which
    means that every living worker reports a problem, nor a FIELD_KEY that cannot decrypt the stored keys of providers.
    """
    checks = {"database": "ok", "migrations": "ok", "disk": "ok", "worker": "ok", "keys": "ok"}
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            checks["migrations"] = "missing: run manage.py migrate"
        checks["worker"] = _find_worker_state()
        if checks["migrations"] == "ok" and find_broken_seals():
            checks["keys"] = "FIELD_KEY does not decrypt a stored key: see manage.py check --database default"
    except DatabaseFailure:
        checks |= {"database": "unreachable", "migrations": "not known", "worker": "not known", "keys": "not known"}
    if find_disk_shortage(settings.DATA):
        checks["disk"] = "nearly full"
    ready = all(checks[name] == "ok" for name in NECESSARY)
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)


def _find_worker_state() -> str:
    alive = [worker for worker in read_workers() if worker.alive]
    if not alive:
        return "silent"
    return "hindered" if all(worker.problem for worker in alive) else "ok"


class Finding(NamedTuple):
    """What one question found: ``state`` is "ok", "warning" or "wrong"; ``found`` and ``advice`` are sentences."""

    name: str
    state: str
    found: str
    advice: str = ""


class _Wrong(Exception):
    """A sentence that says what is wrong, and one that says what to do about it."""

    def __init__(self, found: str, advice: str = "") -> None:
        super().__init__(found)
        self.finding = (found, advice)


class _Doubtful(_Wrong):
    """Nothing has to be done at once."""


def examine(*, with_trail: bool = True) -> list[Finding]:
    """Ask every question. Nothing is changed, except that a row is written and deleted again. If the database does not answer,
    questions that need it are skipped.

    ``with_trail`` checks every event of the audit trail, which takes about a second for 50,000 events.
    """
    questions: list[tuple[str, Callable[[], str]]] = [
        ("settings", _check_settings),
        ("disk", _check_disk),
        ("broker", _check_broker),
        ("database", _check_database),
    ]
    findings = [_ask(name, question) for name, question in questions]
    if findings[-1].found.startswith(UNANSWERED):
        return [*findings, Finding("migrations", WRONG, "Not examined, because the database does not answer.")]
    findings.append(_ask("migrations", _check_migrations))
    if findings[-1].state == WRONG:
        return findings
    findings += [
        _ask(name, question)
        for name, question in (
            ("clock", _check_clock),
            ("worker", _check_worker),
            ("spool", _check_spool),
            ("keys", _check_keys),
            ("backup", _check_backup),
        )
    ]
    return [*findings, *_check_ledger(with_trail=with_trail)]


def _ask(name: str, question: Callable[[], str]) -> Finding:
    try:
        return Finding(name, OK, question())
    except _Wrong as wrong:
        return Finding(name, WARNING if isinstance(wrong, _Doubtful) else WRONG, *wrong.finding)
    except DatabaseFailure as error:
        # The message may quote a row.
        return Finding(name, WRONG, f"The database refused a question ({type(error).__name__}).", "See its log.")


def _check_settings() -> str:
    """Invalid settings have already ended the command before this point."""
    if names := find_misspelt_names():
        written = "; ".join(f"{name}: did you mean {known}?" for name, known in names)
        raise _Doubtful(f"These variables are not settings: {written}", "Correct or remove them.")
    address = urlsplit(settings.BASE_URL)
    if address.scheme == "http" and address.hostname not in {"127.0.0.1", "localhost", "::1"}:
        raise _Wrong(
            f"People reach the site at {settings.BASE_URL}, without encryption.",
            "Put a proxy with TLS in front of it, and set BASE_URL to its https address.",
        )
    if settings.DEBUG:
        raise _Doubtful(
            "DEBUG is on: error pages show internal details of the program.", "Remove it from the settings."
        )
    return f"valid; people reach the site at {settings.BASE_URL}"


def _check_disk() -> str:
    usage = shutil.disk_usage(settings.DATA)
    room = f"{usage.free / 1e9:,.1f} of {usage.total / 1e9:,.1f} GB are free on the disk of the data folder"
    if shortage := find_disk_shortage(settings.DATA):
        raise _Wrong(shortage)
    if usage.free < LITTLE_ROOM * usage.total:
        raise _Doubtful(f"Only {room}.", "Make room soon.")
    return room


def _check_broker() -> str:
    if not settings.REDIS_URL:
        probe = settings.DATA / "doorbell"
        if probe.exists() and not probe.is_dir():
            raise _Wrong(f"{probe} is not a folder, so workers cannot be notified of work.", "Move that file away.")
        return "messages are files in the data folder; no Redis is needed"
    # Celery is loaded only where there is a Redis to ask.
    import redis
    from kombu.exceptions import OperationalError

    from auditapp.batches.runner.tasks import connect_at_once

    try:
        with connect_at_once() as connection:
            client = connection.default_channel.client  # type: ignore[attr-defined]
            version = client.info("server")["redis_version"]
            try:
                policy = client.config_get("maxmemory-policy").get("maxmemory-policy")
            except redis.ResponseError:
                return f"Redis {version} answers; it does not report its maxmemory-policy, which should be noeviction"
    except (redis.RedisError, OperationalError, OSError) as error:
        raise _Wrong(
            f"Redis does not answer ({type(error).__name__}).",
            "Start it, or correct REDIS_URL. Until then people can code; batches and large imports wait.",
        ) from None
    if policy != "noeviction":
        raise _Doubtful(
            f"Redis {version} answers, but its maxmemory-policy is {policy}.",
            "Set it to noeviction, so that Redis refuses messages instead of dropping them.",
        )
    return f"Redis {version} answers"


def _check_database() -> str:
    try:
        if "batches_tick" in connection.introspection.table_names():
            # Only what is committed shows that it can be written to: SQLite writes nothing before.
            Tick.objects.bulk_create([Tick(name="doctor", at=timezone.now())], ignore_conflicts=True)
            Tick.objects.filter(name="doctor").delete()
        return _check_sqlite() if connection.vendor == "sqlite" else _check_postgres()
    except DatabaseFailure as error:
        raise _Wrong(
            f"{UNANSWERED} ({type(error).__name__}).",
            "Start it, or correct DATABASE_URL; make sure that its disk has room and, on SQLite, that the data folder belongs "
            "to this user.",
        ) from None


def _check_sqlite() -> str:
    def ask(pragma: str) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA {pragma}")
            return cursor.fetchone()[0]

    if ask("journal_mode") != "wal" or ask("synchronous") < 2:
        raise _Wrong(
            "SQLite does not use the settings of this program (journal_mode wal, synchronous full).",
            "Find out whether another program has changed the database file.",
        )
    size = find_sqlite_file().stat().st_size
    name = f"SQLite {sqlite3.sqlite_version}, {size / 1e6:,.0f} MB"
    if size > CHECKED_BYTES:
        return f"{name}; writable; too large for a quick check"
    try:
        answer = ask("quick_check(1)")
    except DatabaseFailure:
        answer = "it cannot be read completely"
    if answer != "ok":
        raise _Wrong(f"The database file is damaged: {answer}.", "Stop the site, and restore the last backup.")
    return f"{name}; writable; its pages are in order"


def _check_postgres() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('max_connections')::int")
        version, most = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        [used] = cursor.fetchone()
        cursor.execute("SELECT current_setting('synchronous_commit'), current_setting('fsync')")
        commit, fsync = cursor.fetchone()
    if fsync == "off" or commit == "off":
        raise _Wrong(
            f"PostgreSQL may lose stored work when the power fails (fsync {fsync}, synchronous_commit {commit}).",
            "Switch both on.",
        )
    if used > MAX_CONNECTIONS_SHARE * most:
        raise _Doubtful(f"{used} of {most} connections to PostgreSQL are in use.", "Raise max_connections.")
    return f"PostgreSQL {version}; writable; {used} of {most} connections in use"


def _check_migrations() -> str:
    executor = MigrationExecutor(connection)
    missing = [str(migration) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    if missing:
        raise _Wrong(
            f"{len(missing)} migrations are missing, such as {missing[0]}.",
            "Make a backup, then run manage.py migrate.",
        )
    loader = executor.loader
    newer = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    )
    if newer:
        raise _Wrong(f"A newer release has migrated this database ({newer[0]}).", "Install that release.")
    return "all applied"


def _check_clock() -> str:
    before = timezone.now()
    theirs = read_now()
    off = abs((theirs - before).total_seconds())
    if off > MAX_CLOCK_SECONDS:
        raise _Wrong(
            f"The clocks of this machine and of the database differ by {off:,.0f} seconds.",
            "Synchronise both (NTP): the times of codings come from this machine.",
        )
    last = AuditEvent.objects.order_by("-pk").values_list("at", flat=True).first()
    if last and (ahead := (last - timezone.now()).total_seconds()) > MAX_CLOCK_SECONDS:
        raise _Wrong(
            f"The last event of the audit trail is {ahead:,.0f} seconds in the future: a clock was set back.",
            "Correct this machine's clock before people go on.",
        )
    return "agrees with the database's" if connection.vendor == "postgresql" else "no stored time is in the future"


def _check_worker() -> str:
    workers = [worker for worker in read_workers() if worker.alive]
    waiting = len(find_queues_to_notify()) + len(find_free_jobs())
    work = f"{waiting} queues and imports wait" if waiting else "nothing waits"
    if problems := sorted({worker.problem for worker in workers if worker.problem}):
        raise _Wrong(" ".join(problems), "Workers continue by themselves when this is fixed.")
    if not workers and waiting:
        raise _Wrong(f"No worker is alive, and {work} for one.", "Start one: manage.py worker.")
    if not workers:
        raise _Doubtful("No worker is alive; nothing waits for one.", "Batches and large imports need one.")
    return f"{len(workers)} alive; {work} for one"


def _check_spool() -> str:
    now = timezone.now().timestamp()
    files = [file for file in settings.SPOOL_FOLDER.glob("*") if file.is_file()]
    left = [
        file
        for file in files
        if now - file.stat().st_mtime > SETTLED_AFTER.total_seconds() and is_abandoned(file) is not False
    ]
    if left:
        raise _Wrong(
            f"{len(left)} files of answers wait in {settings.SPOOL_FOLDER} for more than {SETTLED_AFTER.seconds // 60} minutes.",
            "Start a worker on this machine: it stores these answers. Do not delete them; they were paid for.",
        )
    return f"{len(files)} files of calls in flight" if files else "empty"


def _check_keys() -> str:
    if names := find_broken_seals():
        raise _Wrong(
            f"FIELD_KEY does not decrypt the stored keys of {', '.join(names[:MAX_TOLD])}.",
            "Put the former FIELD_KEY back (it can contain several keys, separated by commas), or set these keys again.",
        )
    if names := find_broken_secrets():
        raise _Wrong(
            f"FIELD_KEY does not decrypt the secret of {', '.join(names[:MAX_TOLD])}, so nothing is sent there.",
            "Put the former FIELD_KEY back (it can contain several keys, separated by commas), or turn them off and add them "
            "again.",
        )
    if names := find_broken_second_factors():
        raise _Wrong(
            f"FIELD_KEY does not decrypt the second factor of {', '.join(names[:MAX_TOLD])}, who cannot sign in.",
            "Put the former FIELD_KEY back (it can contain several keys, separated by commas), or run "
            "manage.py user remove-second-factor NAME.",
        )
    return "all stored keys, webhook secrets and second factors can be decrypted"


def _check_backup() -> str:
    found = AuditEvent.objects.filter(action=BACKED_UP).order_by("-pk").values_list("at", "details").first()
    if found is None:
        raise _Doubtful("No backup has been made with manage.py backup.", "docs/operations.md describes how.")
    last, details = found
    places = {Path(details.get("folder", settings.DATA)), Path(settings.DATA)}
    if left := sorted(each for place in places for each in actions.find_leftovers(place)):
        raise _Doubtful(
            f"{len(left)} unencrypted copies of the database are left from backups that did not finish, such as {left[0]}.",
            "The next backup to that folder removes them; you can also delete them.",
        )
    days = (timezone.now() - last).days
    if timezone.now() - last > BACKUP_AFTER:
        raise _Doubtful(f"The last backup is {days} days old.", "Make one: manage.py backup FILE.")
    return "the last one was made today" if days == 0 else f"the last one is {days} days old"


def _check_ledger(*, with_trail: bool) -> Iterator[Finding]:
    breaks = verify_batches(with_trail=with_trail)
    in_trail = [what for invariant, _, what in breaks if invariant == TRAIL]
    if with_trail:
        advice = "Compare the trail with an earlier backup: manage.py audit verify shows where they diverge."
        events = AuditEvent.objects.count()
        yield _judge("trail", in_trail, f"{events:,} events, each of which fits the one before it", advice)
    others = [f"{invariant}: {what}" for invariant, _, what in breaks if invariant != TRAIL]
    advice = "manage.py batch verify lists all; docs/guide/batches.md says what each means."
    yield _judge("batches", others, "calls, results, money and states agree", advice)


def _judge(name: str, wrong: list[str], right: str, advice: str) -> Finding:
    if not wrong:
        return Finding(name, OK, right)
    more = f" And {len(wrong) - MAX_TOLD} more." if len(wrong) > MAX_TOLD else ""
    return Finding(name, WRONG, " ".join(wrong[:MAX_TOLD]) + more, advice)
