"""The Celery application: a doorbell that carries ids. Every truth about a batch is in the database."""

from __future__ import annotations

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
TRANSPORT_ALIASES["filesystem"] = "auditapp.batches.runner.file_broker:Transport"

app = Celery("auditapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["auditapp.batches.runner"])
