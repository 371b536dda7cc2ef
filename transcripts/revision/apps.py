from __future__ import annotations

from django.apps import AppConfig


class RevisionConfig(AppConfig):
    name = "transcripts.revision"
