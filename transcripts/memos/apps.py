from __future__ import annotations

from django.apps import AppConfig


class MemosConfig(AppConfig):
    name = "transcripts.memos"
