"""What the audit trail says of codings, links, decisions and memos: enough to rebuild every row of them.

Quotes are offsets: the texts of sentences never change. Idempotency keys are left out, for they say nothing of the work.
"""

from __future__ import annotations

from transcripts.audit_trail.rows import register_rows
from transcripts.coding.models import Coding, Decision, Link, Memo

STUDY_OF_A_SENTENCE = "sentence.turn.interview.owning_study_id"


def register() -> None:
    register_rows(
        Coding,
        "sentence code identifier version coder layer level enactment grounding prompting quote_start quote_end range "
        "migrated_from created_at withdrawn_at superseded_by",
        texts=["note", "reason", "withdrawal_reason", "attributes"],
        study=STUDY_OF_A_SENTENCE,
        identifier="code.identifier",
        version="code.version.number",
        range="range_id",
    )
    register_rows(
        Link,
        "coding coder kind code sentence quote_start quote_end layer created_at withdrawn_at",
        study=f"coding.{STUDY_OF_A_SENTENCE}",
    )
    register_rows(
        Decision,
        "sentence coder layer none_applies created_at withdrawn_at",
        texts=["withdrawal_reason"],
        study=STUDY_OF_A_SENTENCE,
    )
    register_rows(
        Memo,
        "study author kind subject key thread revision interview sentence created_at withdrawn_at superseded_by",
        texts=["text"],
        study="study_id",
        key="subject_key",
    )
