from __future__ import annotations

from django.apps import AppConfig


class AgreementConfig(AppConfig):
    name = "transcripts.agreement"

    def ready(self) -> None:
        from transcripts.agreement.models import Adjudication
        from transcripts.audit_trail.rows import register_rows

        columns = {
            "project": "project_id",
            "sentence": "sentence_id",
            "family": "family_identifier",
            "readings": "readings",
            "outcome": "outcome",
            "chosen": "chosen_coder_id",
            "codes": "codes",
            "adjudicator": "adjudicator_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "revision": "revision",
            "superseded_by": "superseded_by_id",
        }
        register_rows(Adjudication, columns=columns, texts=["reason"], project="project_id")
