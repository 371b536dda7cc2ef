"""What the audit trail says of scores: enough to rebuild every row of them. Their evidence stands in the same event."""

from __future__ import annotations

from transcripts.audit_trail.rows import register_rows
from transcripts.negotiation.models import Score, ScoreEvidence


def register() -> None:
    register_rows(
        Score,
        columns={
            "stance": "stance_id",
            "wording": "stance.sha256",
            "interview": "interview_id",
            "criterion": "criterion",
            "turn": "turn_id",
            "feature": "feature",
            "value": "value",
            "coder": "coder_id",
            "layer": "layer",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "superseded_by": "superseded_by_id",
        },
        texts=["note"],
        project="interview.study_id",
    )
    register_rows(
        ScoreEvidence,
        columns={
            "score": "score_id",
            "sentence": "sentence_id",
            "quote_start": "quote_start",
            "quote_end": "quote_end",
        },
        project="score.interview.study_id",
    )
