from __future__ import annotations

from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "transcripts.imports"
