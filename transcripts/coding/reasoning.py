"""Which codings were made after their coder had opened reasoning of the thread: derived, for it is no column."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from transcripts.coding.models import Coding, StageOpening

# For plain SQL in which ``m`` is the coding, and ``t`` the turn of its sentence.
SAW_REASONING = """EXISTS (
    SELECT 1 FROM coding_stageopening o JOIN corpus_turn ot ON ot.id = o.turn_id
    WHERE o.coder_id = m.coder_id AND ot.interview_id = t.interview_id AND o.opened_at <= m.created_at)"""


def annotate_saw_reasoning(codings: QuerySet[Coding]) -> QuerySet[Any]:
    """The codings with ``saw_reasoning``: whether their coder had opened reasoning of the same thread by then."""
    opened = StageOpening.objects.filter(
        coder=OuterRef("coder"),
        turn__interview=OuterRef("sentence__turn__interview"),
        opened_at__lte=OuterRef("created_at"),
    )
    return codings.annotate(saw_reasoning=Exists(opened))
