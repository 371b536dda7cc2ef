from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    name = "transcripts.rounds"

    def ready(self) -> None:
        from transcripts.audit_trail.rows import register_rows
        from transcripts.rounds.models import Finish

        register_rows(Finish, "interview coder finished_at shown_at withdrawn_at", study="interview.study_id")
