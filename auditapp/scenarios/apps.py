from __future__ import annotations

from django.apps import AppConfig


class ScenariosConfig(AppConfig):
    name = "auditapp.scenarios"
