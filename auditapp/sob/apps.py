from __future__ import annotations

from django.apps import AppConfig


class SobConfig(AppConfig):
    name = "auditapp.sob"
