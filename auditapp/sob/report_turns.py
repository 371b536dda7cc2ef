"""Whose turn it is to compute the report of a batch, and why the last try failed. Both stand in the cache and may be lost."""

from __future__ import annotations

import datetime
import os
from contextlib import suppress
from typing import NamedTuple

from django.core.cache import cache
from django.db import DatabaseError

from auditapp.batches.ledger.clock import read_now
from auditapp.batches.ledger.worker_signs import SILENT_AFTER, name_host
from auditapp.batches.models import Batch, WorkerSign
from auditapp.sob.mappings import UnknownMapping
from auditapp.sob.queries import UnknownTargets
from auditapp.sob.reporting import ReportChoice, digest_choice

# After that, whoever was at it is taken for dead.
LONGEST_SECONDS = 300
FIRST_WAIT = datetime.timedelta(seconds=10)
LONGEST_WAIT = datetime.timedelta(minutes=10)
REMEMBERED_SECONDS = 24 * 3600
WORKER_ENDED = "The worker that computed it has ended, perhaps for want of memory."


class Failure(NamedTuple):
    """A try that failed: the how manieth in a row, why, and when a page that is open asks again by itself."""

    tries: int
    reason: str
    again_at: datetime.datetime


class _Turn(NamedTuple):
    """Who computes what. ``worker`` is "" while nobody has begun, or where no sign of life tells whether he lives."""

    choice: str
    worker: str = ""


def take_turn(batch: Batch, choice: ReportChoice) -> bool:
    """Whether the caller is the one to compute a batch's report now. A turn whose worker has ended is over, and has failed."""
    if cache.add(_name_turn(batch), _Turn(digest_choice(choice)), LONGEST_SECONDS):
        return True
    turn = cache.get(_name_turn(batch))
    if turn is not None and turn.worker and not _is_alive(turn.worker):
        _note(batch, turn.choice, WORKER_ENDED)
        end_turn(batch)
    return False


def begin_turn(batch: Batch, choice: ReportChoice) -> None:
    """A worker sets to work on what it was asked for: its sign of life is that of the turn."""
    cache.set(_name_turn(batch), _Turn(digest_choice(choice), _find_own_sign()), LONGEST_SECONDS)


def end_turn(batch: Batch) -> None:
    """The next may compute: at once, or where the database is too busy to hear it when the turn lapses."""
    with suppress(DatabaseError):
        cache.delete(_name_turn(batch))


def note_failure(batch: Batch, choice: ReportChoice, error: Exception) -> None:
    """Keep why a report could not be computed. Of an error that was not written for readers its kind alone."""
    known = isinstance(error, UnknownMapping | UnknownTargets)
    told = str(error) if known else f"It ended with {type(error).__name__}; the worker’s log says where."
    _note(batch, digest_choice(choice), told)


def find_failure(batch: Batch, choice: ReportChoice) -> Failure | None:
    """Why there is no newer report, while it is too early to ask again."""
    kept = cache.get(_name_failure(batch))
    if kept is None or kept[0] != digest_choice(choice):
        return None
    failure: Failure = kept[1]
    return failure if read_now() < failure.again_at else None


def forget_failure(batch: Batch) -> None:
    """Whoever looks next asks again at once."""
    cache.delete(_name_failure(batch))


def _note(batch: Batch, choice: str, reason: str) -> None:
    kept = cache.get(_name_failure(batch))
    tries = kept[1].tries + 1 if kept and kept[0] == choice else 1
    again_at = read_now() + min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries - 1, 10))
    cache.set(_name_failure(batch), (choice, Failure(tries, reason, again_at)), REMEMBERED_SECONDS)


def _find_own_sign() -> str:
    """The name under which the worker of this process shows that it lives: its own, or that of the process it comes from."""
    names = [f"{name_host()}:{pid}" for pid in (os.getpid(), os.getppid())]
    return WorkerSign.objects.filter(name__in=names).values_list("name", flat=True).first() or ""


def _is_alive(worker: str) -> bool:
    return WorkerSign.objects.filter(name=worker, seen_at__gt=read_now() - SILENT_AFTER).exists()


def _name_turn(batch: Batch) -> str:
    return f"sob-report-turn-2:{batch.pk}"


def _name_failure(batch: Batch) -> str:
    return f"sob-report-failure:{batch.pk}"
