from __future__ import annotations

from django.apps import AppConfig


class ImportWorkerConfig(AppConfig):
    name = "auditapp.import_worker"
