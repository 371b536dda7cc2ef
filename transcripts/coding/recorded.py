"""What the audit trail says of codings, links, decisions and memos: enough to rebuild every row of them.

Quotes are offsets: the texts of sentences never change. Idempotency keys are left out, for they say nothing of the work.
"""

from __future__ import annotations

from transcripts.audit_trail.rows import register_rows
from transcripts.coding.models import Coding, Decision, Link, Memo

PROJECT_OF_A_SENTENCE = "sentence.turn.interview.study_id"


def register() -> None:
    register_rows(
        Coding,
        columns={
            "sentence": "sentence_id",
            "code": "code_id",
            "identifier": "code.identifier",
            "version": "code.version.number",
            "coder": "coder_id",
            "layer": "layer",
            "level": "level",
            "enactment": "enactment",
            "grounding": "grounding",
            "prompting": "prompting",
            "quote_start": "quote_start",
            "quote_end": "quote_end",
            "range": "range_id",
            "migrated_from": "migrated_from_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "superseded_by": "superseded_by_id",
        },
        texts=["note", "reason", "withdrawal_reason", "attributes"],
        project=PROJECT_OF_A_SENTENCE,
    )
    register_rows(
        Link,
        columns={
            "coding": "coding_id",
            "coder": "coder_id",
            "kind": "kind",
            "code": "code_id",
            "sentence": "sentence_id",
            "quote_start": "quote_start",
            "quote_end": "quote_end",
            "layer": "layer",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
        },
        project="coding.sentence.turn.interview.study_id",
    )
    register_rows(
        Decision,
        columns={
            "sentence": "sentence_id",
            "coder": "coder_id",
            "layer": "layer",
            "none_applies": "none_applies",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
        },
        texts=["withdrawal_reason"],
        project=PROJECT_OF_A_SENTENCE,
    )
    register_rows(
        Memo,
        columns={
            "project": "project_id",
            "author": "author_id",
            "kind": "kind",
            "subject": "subject",
            "key": "subject_key",
            "thread": "thread",
            "revision": "revision",
            "interview": "interview_id",
            "sentence": "sentence_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "superseded_by": "superseded_by_id",
        },
        texts=["text"],
        project="project_id",
    )
