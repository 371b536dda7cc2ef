"""Which workers are alive, and what keeps one from working. A worker updates a row of its own every few seconds."""

from __future__ import annotations

import datetime
import os
import socket

from django.conf import settings
from django.db import IntegrityError, transaction

from auditapp.batches.models import WorkerSign
from auditapp.batches.pure.spool import find_disk_shortage
from auditapp.outbound.clock import read_now

SILENT_AFTER = datetime.timedelta(seconds=20)
# After that, silence means nothing: the worker was ended, or another has taken its place.
FORMER_AFTER = datetime.timedelta(minutes=10)
FORGOTTEN_AFTER = datetime.timedelta(days=1)

DISK_FULL = "The disk of the data folder is nearly full. No calls are made until there is room."


def name_host() -> str:
    """The prefix of the names of this machine's (or container's) workers."""
    return socket.gethostname()[:150]


def name_worker() -> str:
    """The name of the worker that this process is."""
    return f"{name_host()}:{os.getpid()}"


def read_workers() -> list[WorkerSign]:
    """Every worker with a sign of life within a day, the latest first, with whether it is ``alive``. Two queries."""
    now = read_now()
    signs = list(WorkerSign.objects.order_by("-seen_at", "name"))
    for sign in signs:
        sign.alive = now - sign.seen_at < SILENT_AFTER
    return signs


def is_worker_alive() -> bool:
    """Whether any worker gave a sign of life within the last twenty seconds."""
    return WorkerSign.objects.filter(seen_at__gt=read_now() - SILENT_AFTER).exists()


def find_problem_here() -> str:
    """Why this machine's workers take no work: the latest problem of one that is alive, else that there is none."""
    own = [each for each in read_workers() if each.alive and each.name.startswith(f"{name_host()}:")]
    if not own:
        return "No worker on this machine has reported within the last twenty seconds."
    return own[0].problem


def write_sign(*, started_at: datetime.datetime, queues: int, problem: str) -> None:
    """Write this process's sign of life."""
    name = name_worker()
    sign = {"seen_at": read_now(), "started_at": started_at, "queues": queues, "problem": problem}
    if WorkerSign.objects.filter(name=name).update(**sign):
        return
    try:
        with transaction.atomic():
            WorkerSign.objects.create(name=name, **sign)
    except IntegrityError:
        WorkerSign.objects.filter(name=name).update(**sign)


def delete_sign() -> None:
    """Delete this process's sign of life: the worker has ended, and must not look alive any longer."""
    WorkerSign.objects.filter(name=name_worker()).delete()


def forget_old_signs() -> None:
    """Delete the signs of workers that were silent for a day."""
    WorkerSign.objects.filter(seen_at__lt=read_now() - FORGOTTEN_AFTER).delete()


def find_problem() -> str:
    """Why this process must make no calls at present, or an empty text. A paid answer must find room on the disk."""
    return DISK_FULL if find_disk_shortage(settings.DATA) else ""
