from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "transcripts.studies"

    def ready(self) -> None:
        from transcripts.accounts.queries import register_closing
        from transcripts.studies import queries

        register_closing(obstacles=queries.find_obstacles, notes=queries.list_notes, close=queries.close)
