"""What the audit trail says of scores: enough to rebuild every row of them. Their evidence stands in the same event."""

from __future__ import annotations

from transcripts.audit_trail.rows import register_rows
from transcripts.negotiation.models import Score, ScoreEvidence


def register() -> None:
    register_rows(
        Score,
        "stance wording interview criterion turn feature value coder layer created_at withdrawn_at superseded_by",
        texts=["note"],
        study="interview.owning_study_id",
        wording="stance.sha256",
    )
    register_rows(ScoreEvidence, "score sentence quote_start quote_end", study="score.interview.owning_study_id")
