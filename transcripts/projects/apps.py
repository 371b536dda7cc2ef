from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "transcripts.projects"

    def ready(self) -> None:
        from transcripts.accounts.queries import register_closing
        from transcripts.projects import queries

        register_closing(obstacles=queries.find_obstacles, notes=queries.list_notes, close=queries.close)
