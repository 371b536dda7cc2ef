"""Two answers for whoever watches the process: is it alive, is it ready. Neither tells a stranger more than that."""

from __future__ import annotations

import shutil

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from auditapp.batches.waiting import is_worker_alive

LEAST_FREE = 0.05


@login_not_required
def livez(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; depends on nothing."""
    return HttpResponse("alive\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when database, migrations and disk are fit; 503 with the failing check otherwise.

    A missing worker does not make the site unready: people can code without one. It is named as "silent".
    """
    checks = {"database": "ok", "migrations": "ok", "disk": "ok", "worker": "ok"}
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            checks["migrations"] = "missing: run manage.py migrate"
        if not is_worker_alive():
            checks["worker"] = "silent"
    except DatabaseError:
        checks["database"] = "unreachable"
    usage = shutil.disk_usage(settings.DATA)
    if usage.free < LEAST_FREE * usage.total:
        checks["disk"] = "less than 5 % free"
    ready = all(checks[name] == "ok" for name in ("database", "migrations", "disk"))
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)
