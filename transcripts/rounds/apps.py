from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    name = "transcripts.rounds"
