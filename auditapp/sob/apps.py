from __future__ import annotations

from django.apps import AppConfig


class SobConfig(AppConfig):
    name = "auditapp.sob"

    def ready(self) -> None:
        from auditapp.batches.kinds import register_kind
        from auditapp.sob.kind import SobKind

        register_kind(SobKind())
