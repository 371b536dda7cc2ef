from __future__ import annotations

from django.apps import AppConfig


class CodingConfig(AppConfig):
    name = "transcripts.coding"

    def ready(self) -> None:
        from transcripts.coding.recorded import register

        register()
