from __future__ import annotations

from django.apps import AppConfig


class AgreementConfig(AppConfig):
    name = "transcripts.agreement"

    def ready(self) -> None:
        from transcripts.agreement.models import Adjudication
        from transcripts.audit_trail.rows import register_rows

        names = "study sentence family readings outcome chosen codes adjudicator created_at withdrawn_at revision superseded_by"
        paths = {"family": "family_identifier", "chosen": "chosen_coder_id"}
        register_rows(Adjudication, names, texts=["reason"], study="study_id", **paths)
