from __future__ import annotations

from django.apps import AppConfig


class ProbeConfig(AppConfig):
    name = "auditapp.probe"
