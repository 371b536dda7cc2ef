from __future__ import annotations

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "transcripts.projects"
