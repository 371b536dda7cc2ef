from __future__ import annotations

from django.apps import AppConfig


class BlindingConfig(AppConfig):
    name = "transcripts.blinding"
