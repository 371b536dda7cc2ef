from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    name = "transcripts.rounds"

    def ready(self) -> None:
        from transcripts.accounts.queries import register_closing
        from transcripts.audit_trail.rows import register_rows
        from transcripts.rounds import closing
        from transcripts.rounds.models import Finish

        columns = {
            "interview": "interview_id",
            "coder": "coder_id",
            "finished_at": "finished_at",
            "shown_at": "shown_at",
            "withdrawn_at": "withdrawn_at",
        }
        register_closing(notes=closing.list_notes)
        register_rows(Finish, columns=columns, project="interview.study_id")
