"""The Celery application. Its messages carry ids; the state of every batch is in the database.

Loaded by workers, and by a web process when it first notifies one.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import after_setup_logger, after_setup_task_logger
from kombu.transport import TRANSPORT_ALIASES

from auditapp.llm.pure.key_removal import KeyFilter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
TRANSPORT_ALIASES["filesystem"] = "auditapp.batches.runner.file_broker:Transport"

app = Celery("auditapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["auditapp.batches.runner", "auditapp.benchmarks.sob.report"])
app.autodiscover_tasks(["auditapp.batches.runner"], related_name="job_tasks")


@after_setup_logger.connect
@after_setup_task_logger.connect
def keep_keys_out(logger: logging.Logger, **kwargs: Any) -> None:
    """Celery gives some of its loggers their own handlers, which the LOGGING setting does not reach."""
    for handler in logger.handlers:
        if not any(isinstance(each, KeyFilter) for each in handler.filters):
            handler.addFilter(KeyFilter())
