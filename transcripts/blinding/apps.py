from __future__ import annotations

from django.apps import AppConfig


class BlindingConfig(AppConfig):
    name = "transcripts.blinding"

    def ready(self) -> None:
        from transcripts.blinding.labels_seen import keep_what_was_seen
        from transcripts.projects.role_changes import register_role_change

        register_role_change(keep_what_was_seen)
