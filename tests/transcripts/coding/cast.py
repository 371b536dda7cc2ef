"""Short ways to act at the desk in tests."""

from uuid import uuid4

from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.models import Coding
from transcripts.coding.values import CodingValues


def find_code(study, identifier):
    """A code of the study's first codebook version."""
    return Code.objects.get(version__study=study, version__number=1, identifier=identifier)


def put(sentence, code, by, *, idempotency_key=None, **how):
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


def take_off(coding, by, *, reason=""):
    study = coding.sentence.turn.interview.study
    actions.withdraw_coding(study=study, coding=coding, by=by, reason=reason)


def restore(coding, sentence, by):
    """Undo: the coding as it was, on ``sentence``."""
    study = sentence.turn.interview.study
    return actions.restore_coding(
        study=study, coding=coding, sentence=sentence, by=by, idempotency_key=uuid4(), reason=""
    )


def decide(sentence, by, idempotency_key=None):
    study = sentence.turn.interview.study
    return actions.decide_sentence(study=study, sentence=sentence, by=by, idempotency_key=idempotency_key or uuid4())


def standing_codes(sentence, coder):
    """Identifiers of the codes of ``coder`` that stand on a sentence."""
    rows = Coding.objects.filter(sentence=sentence, coder=coder, withdrawn_at__isnull=True)
    return sorted(rows.values_list("code__identifier", flat=True))


def last_event(study):
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).order_by("-sequence")[0]


def count_events(study):
    return AuditEvent.objects.filter(stream=trail.study_stream(study.pk)).count()
