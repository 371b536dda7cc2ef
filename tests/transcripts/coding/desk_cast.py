"""Short ways to act at the desk in tests."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.models import Coding, Decision
from transcripts.coding.values import CodingValues
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Project


def find_code(project: Project, identifier: str) -> Code:
    """A code of the study's first codebook version."""
    return Code.objects.get(version__project=project, version__number=1, identifier=identifier)


def put(
    sentence: Sentence,
    code: Code,
    by: User,
    *,
    idempotency_key: UUID | None = None,
    **how: Any,
) -> Coding:
    """Put a code on, in the sentence's own study; ``how``: values of the coding, and what else the action takes.

    A move is enacted unless something else is said.
    """
    if code.family.carries_enactment:
        how.setdefault("enactment", "enacted")
    values = CodingValues(**{name: how.pop(name) for name in CodingValues._fields if name in how})
    return actions.add_coding(
        project=sentence.turn.interview.project,
        sentence=sentence,
        code=code,
        by=by,
        idempotency_key=idempotency_key or uuid4(),
        values=values,
        **how,
    )


def take_off(coding: Coding, by: User, *, reason: str = "") -> None:
    project = coding.sentence.turn.interview.project
    actions.withdraw_coding(project=project, coding=coding, by=by, reason=reason)


def restore(coding: Coding, sentence: Sentence, by: User) -> Coding:
    """Undo: the coding as it was, on ``sentence``."""
    project = sentence.turn.interview.project
    return actions.restore_coding(
        project=project, coding=coding, sentence=sentence, by=by, idempotency_key=uuid4(), reason=""
    )


def decide(sentence: Sentence, by: User, idempotency_key: UUID | None = None) -> Decision:
    project = sentence.turn.interview.project
    return actions.decide_sentence(
        project=project, sentence=sentence, by=by, idempotency_key=idempotency_key or uuid4()
    )


def standing_codes(sentence: Sentence, coder: User) -> list[str]:
    """Identifiers of the codes of ``coder`` that stand on a sentence."""
    rows = Coding.objects.filter(sentence=sentence, coder=coder, withdrawn_at__isnull=True)
    return sorted(rows.values_list("code__identifier", flat=True))


def last_event(project: Project) -> AuditEvent:
    return AuditEvent.objects.filter(stream=trail.project_stream(project.pk)).order_by("-sequence")[0]


def count_events(project: Project) -> int:
    return AuditEvent.objects.filter(stream=trail.project_stream(project.pk)).count()
