from __future__ import annotations

from django.apps import AppConfig


class LlmConfig(AppConfig):
    name = "auditapp.llm"

    def ready(self) -> None:
        from auditapp.llm import checks  # noqa: F401 - registers them
