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
from transcripts.studies.models import Study


def find_code(study: Study, identifier: str) -> Code:
    """A code of the study's first codebook version."""
    return Code.objects.get(version__study=study, version__number=1, identifier=identifier)


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
        study=sentence.turn.interview.study,
        sentence=sentence,
        code=code,
        by=by,
        idempotency_key=idempotency_key or uuid4(),
        values=values,
        **how,
    )


def take_off(coding: Coding, by: User, *, reason: str = "") -> None:
    study = coding.sentence.turn.interview.study
    actions.withdraw_coding(study=study, coding=coding, by=by, reason=reason)


def restore(coding: Coding, sentence: Sentence, by: User) -> Coding:
    """Undo: the coding as it was, on ``sentence``."""
    study = sentence.turn.interview.study
    return actions.restore_coding(
        study=study, coding=coding, sentence=sentence, by=by, idempotency_key=uuid4(), reason=""
    )


def decide(sentence: Sentence, by: User, idempotency_key: UUID | None = None) -> Decision:
    study = sentence.turn.interview.study
    return actions.decide_sentence(study=study, sentence=sentence, by=by, idempotency_key=idempotency_key or uuid4())


def standing_codes(sentence: Sentence, coder: User) -> list[str]:
    """Identifiers of the codes of ``coder`` that stand on a sentence."""
    rows = Coding.objects.filter(sentence=sentence, coder=coder, withdrawn_at__isnull=True)
    return sorted(rows.values_list("code__identifier", flat=True))


def last_event(study: Study) -> AuditEvent:
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).order_by("-sequence")[0]


def count_events(study: Study) -> int:
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).count()
