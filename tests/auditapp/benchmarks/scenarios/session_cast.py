"""A script of interviews, and models that answer what a test says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from auditapp.batches.ledger import storing
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.benchmarks.scenarios.actions.asking import ask
from auditapp.benchmarks.scenarios.actions.scripts import open_session, write_script
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.scripts import QuestionText, ScriptText, read_published_openings
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from auditapp.outbound.clock import read_now
from tests.auditapp.batches.counting import claim, make_variant
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

PAPER = read_published_openings()[0].text
SHORT = "Shall we talk about how people judge each other?"
BANK = (
    QuestionText(kind="expand", text="Could you say more about that?"),
    QuestionText(kind="challenge", intent="unwarranted", text="That is wrong, is it not?"),
)


def write_guide(study: Study, **others: Any) -> Script:
    """A script of interviews with two openings and a bank of two questions."""
    reason = others.pop("reason", "")
    given: dict[str, Any] = {"name": "gender", "openings": {"paper": PAPER, "short": SHORT}, "questions": BANK}
    script = ScriptText(use="interview", **(given | others))
    return write_script(study=study, script=script, by=trail.SYSTEM, reason=reason)


def open_talk(script: Script, by: trail.Actor, variant: ModelVariant | None = None, **others: Any) -> Session:
    """An interview that is held here; its opening is on its way."""
    given: dict[str, Any] = {"opening": "paper", "variant": variant or make_variant(), **others}
    return open_session(study=script.study, script=script, by=by, **given)


def open_recorded(script: Script, by: trail.Actor, **others: Any) -> Session:
    """An interview that is recorded from a chat page."""
    given: dict[str, Any] = {"opening": "paper", "model_as_shown": "Chat 4", "surface": "chat.example", **others}
    return open_session(study=script.study, script=script, by=by, **given)


def hear(session: Session, content: str, *, as_it_was: ChatAnswer | None = None, **facts: Any) -> None:
    """The question that is on its way is sent and answered, or its call ends ``as_it_was``."""
    assert session.arm
    [call] = claim(session.arm.batch, 1)
    given = as_it_was or ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        finish_reason="stop",
        served_model="model-a-1",
        tokens_in=10,
        tokens_out=5,
    )
    now = read_now()
    storing.store_completed(session.arm.batch_id, [CompletedCall(call.leased, replace(given, **facts), now, now)])


def say(session: Session, by: trail.Actor, text: str, answer: str, kind: str = "expand", **others: Any) -> Question:
    """A question that is asked and answered."""
    question = ask(session=session, kind=kind, text=text, by=by, **others)
    hear(session, answer)
    return question
