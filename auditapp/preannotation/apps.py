from __future__ import annotations

from django.apps import AppConfig


class PreannotationConfig(AppConfig):
    name = "auditapp.preannotation"
