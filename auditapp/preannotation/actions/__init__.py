"""Everything that is written about machine readings; views, API and commands call the same."""

from __future__ import annotations

from auditapp.preannotation.actions.annotators import (
    draft_annotator,
    ensure_annotator,
    hash_annotator,
    read_prompts,
)
from auditapp.preannotation.actions.errors import PreannotationError
from auditapp.preannotation.actions.launching import choose_turns, launch_model, launch_preannotation, plan_reading
from auditapp.preannotation.actions.planning import plan_arms
from auditapp.preannotation.actions.responses import keep_suggestion, leave_suggestion

__all__ = [
    "PreannotationError",
    "choose_turns",
    "draft_annotator",
    "ensure_annotator",
    "hash_annotator",
    "keep_suggestion",
    "launch_model",
    "launch_preannotation",
    "leave_suggestion",
    "plan_arms",
    "plan_reading",
    "read_prompts",
]
