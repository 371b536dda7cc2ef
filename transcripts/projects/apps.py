from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "transcripts.projects"

    def ready(self) -> None:
        from transcripts.accounts.closing import register_closing
        from transcripts.projects import closing

        register_closing(obstacles=closing.find_obstacles, notes=closing.list_notes, close=closing.close)
