from __future__ import annotations

import logging
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger
from django.apps import AppConfig

from auditapp.llm.redaction import KeyFilter


class LlmConfig(AppConfig):
    name = "auditapp.llm"

    def ready(self) -> None:
        from auditapp.llm import checks  # noqa: F401 - registers them

        after_setup_logger.connect(keep_keys_out)
        after_setup_task_logger.connect(keep_keys_out)


def keep_keys_out(logger: logging.Logger, **kwargs: Any) -> None:
    """Celery gives some of its loggers handlers of their own, which the settings of the log do not reach."""
    for handler in logger.handlers:
        if not any(isinstance(each, KeyFilter) for each in handler.filters):
            handler.addFilter(KeyFilter())
