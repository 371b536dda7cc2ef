"""Two short threads, and short ways to be through with one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from tests.transcripts.rounds.round_cast import answers
from transcripts.accounts.models import User
from transcripts.audit_trail.trail import Actor
from transcripts.coding.actions import decide_sentence
from transcripts.corpus.models import Interview
from transcripts.negotiation.actions import pair_threads, write_case_sheet
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.rounds.actions import complete_interview

WHY = "Only power decides this case."
RELEVANT = [{"feature": "feature.power", "reason": WHY}]
IRRELEVANT = [{"feature": "feature.policy", "reason": "No rule applies."}]
DIFFERS = "Who is the tutor."


def decide_all(interview: Interview, by: User) -> None:
    """Decide everything that the model says."""
    for sentence in answers(interview):
        decide_sentence(study=interview.study, sentence=sentence, by=by, idempotency_key=uuid.uuid4())


def finish(interview: Interview, by: User) -> None:
    """Decide everything, and finish."""
    decide_all(interview, by)
    complete_interview(study=interview.study, interview=interview, by=by)


def write_sheet(interview: Interview, by: Actor, **others: Any) -> CaseSheet:
    given: dict[str, Any] = {"relevant": RELEVANT, "irrelevant": IRRELEVANT, **others}
    return write_case_sheet(study=interview.study, interview=interview, by=by, **given)


def pair_up(threads: Sequence[Interview], by: User, **others: Any) -> Pair:
    a, b = threads
    given: dict[str, Any] = {"name": "tutor 1", "differs": DIFFERS, "expect": "no_change", **others}
    return pair_threads(study=a.study, a=a, b=b, by=by, **given)
