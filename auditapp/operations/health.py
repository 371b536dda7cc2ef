"""Health checks for monitoring: whether the process is alive and whether it is ready. They reveal nothing else."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseFailure
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from auditapp.batches.ledger.leases import read_workers
from auditapp.batches.pure.spool import find_disk_shortage
from auditapp.llm.queries import find_broken_seals

NECESSARY = ("database", "migrations", "disk")


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
