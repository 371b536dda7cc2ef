from __future__ import annotations

from django.apps import AppConfig


class ThemesConfig(AppConfig):
    name = "transcripts.themes"
