from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    name = "transcripts.rounds"

    def ready(self) -> None:
        from transcripts.audit_trail.rows import register_rows
        from transcripts.rounds.models import Completion

        register_rows(
            Completion, "interview coder completed_at shown_at withdrawn_at", study="interview.owning_study_id"
        )
