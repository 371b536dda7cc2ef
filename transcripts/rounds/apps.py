from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    name = "transcripts.rounds"

    def ready(self) -> None:
        from transcripts.accounts.closing import register_closing
        from transcripts.rounds import closing

        register_closing(notes=closing.list_notes)
