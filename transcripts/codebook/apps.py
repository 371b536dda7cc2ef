from __future__ import annotations

from django.apps import AppConfig


class CodebookConfig(AppConfig):
    name = "transcripts.codebook"
