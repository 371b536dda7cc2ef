"""How the sessions of a batch came out, from what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from auditapp.batches.models import Batch
from auditapp.batches.pure.chaining import read_words
from auditapp.benchmarks.scenarios.models import Script, Session
from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome, report_sessions
from auditapp.benchmarks.scenarios.pure.outcomes import Expected, read_expected, read_outcome
from auditapp.benchmarks.scenarios.queries.code_readings import read_codes
from auditapp.benchmarks.scenarios.queries.runs import count_states, run_sessions
from auditapp.benchmarks.scenarios.queries.sessions import read_turns
from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.json_answers import explain_end

SESSIONS_AT_A_TIME = 200


def read_run_report(batch: Batch, *, coder: str = "") -> dict[str, Any]:
    """The first of what ``read_run`` returns."""
    return read_run(batch, coder=coder)[0]


def read_run(batch: Batch, *, coder: str = "") -> tuple[dict[str, Any], dict[int, SessionOutcome]]:
    """The report on a batch, and what each of its sessions that expect an answer came to, by the session's key.

    The report is in the form of ``measures.report_sessions``, with ``batch``; ``states``, how many sessions
    are open, stored and failed; ``failed``, which failed; ``without_answer``, how many stored sessions are of cases that expect no
    answer and so have no outcome here.

    Of cases that name a code: ``readings``, how many of their threads have an outcome on which basis (``pure.readings.BASES``),
    None where no case names one; ``coder``, whose readings alone these are, "" for everybody's and what was adjudicated;
    ``coders``, who has read how many; ``unknown_codes``, which the codebook does not have.

    A session that failed is among those without an outcome. Raises ``Refused`` for a coder who has read none of them.
    """
    sessions = _list_ended(batch)
    wanted = {
        session.interview_id: own.code
        for session in sessions
        if (own := _read_expected(session)) and own.code and session.interview_id is not None
    }
    found = read_codes(batch.study, wanted, coder=coder)
    outcomes = _read_outcomes(sessions, found.outcomes)
    report = {
        **report_sessions(list(outcomes.values())),
        "batch": batch.pk,
        "states": count_states(batch),
        "failed": [_name_session(session) for session in sessions if session.state == Session.State.FAILED],
        "without_answer": sum(
            session.state == Session.State.STORED and "answer" not in session.script.case for session in sessions
        ),
        "coder": coder,
        "coders": found.coders,
        "readings": found.counts if wanted else None,
        "unknown_codes": found.unknown,
    }
    return report, outcomes


def read_outcomes(batch: Batch, *, among: Q | None = None) -> list[SessionOutcome]:
    """What the sessions of a batch came to (``among`` them) that have ended and are not masked any more, as a file of sessions has
    them. Nobody's codings are read: of cases that name a code the outcome is None."""
    sessions = [
        session for session in _list_ended(batch, among) if session.interview is None or not session.interview.is_masked
    ]
    return list(_read_outcomes(sessions, {}).values())


def _list_ended(batch: Batch, among: Q | None = None) -> list[Session]:
    ended = run_sessions(batch).filter(among or Q(), state__in=(Session.State.STORED, Session.State.FAILED))
    return list(ended.select_related("script", "arm__variant", "interview").order_by("pk"))


def _read_outcomes(sessions: Sequence[Session], readings: Mapping[int, bool]) -> dict[int, SessionOutcome]:
    measured = [session for session in sessions if "answer" in session.script.case]
    answers = _read_answers([session for session in measured if session.state == Session.State.STORED])
    outcomes = {}
    for session in measured:
        own = read_expected(session.script.case["answer"])
        assert session.arm is not None  # noqa: S101  (said by a constraint)
        read = read_outcome(answers[session.pk], own) if session.pk in answers else None
        outcomes[session.pk] = SessionOutcome(
            case=session.script.name,
            model=session.arm.variant.label,
            condition=session.arm.task,
            repeat=session.repeat,
            outcome=readings.get(session.interview_id or 0) if own.code else read.is_right if read else None,
            group=session.script.case.get("group", ""),
            probability=read.probability if read else None,
            reasoning=find_reasoning(session.arm.variant.reasoning),
            pair=_name_shared_case(session.script),
            base=_name_base(session.arm.variant),
        )
    return outcomes


def _name_shared_case(script: Script) -> str:
    """The name of the pair whose sides tell one case of two groups; "" for any other. That the sides expect the same answer is what
    says that they differ in the group alone."""
    pair = script.case.get("pair") or {}
    return str(pair.get("id", "")) if pair.get("expect") == "no_change" else ""


def _name_base(variant: ModelVariant) -> str:
    """What variants have in common that differ in reasoning alone: another temperature would be another difference."""
    return f"{variant.account_id} {variant.model} {variant.sampling}"


def find_reasoning(setting: str) -> bool | None:
    """Whether a model was set to reason; None where nothing was set."""
    word = setting.strip().casefold()
    return None if not word else word not in {"off", "none", "0", "disabled"}


def _read_expected(session: Session) -> Expected | None:
    return read_expected(session.script.case["answer"]) if "answer" in session.script.case else None


def _name_session(session: Session) -> dict[str, object]:
    assert session.arm is not None  # noqa: S101  (said by a constraint)
    return {
        "case": session.script.name,
        "model": session.arm.variant.label,
        "condition": session.arm.task,
        "repeat": session.repeat,
    }


def _read_answers(sessions: Sequence[Session]) -> dict[int, str]:
    """The words of the last answer of each session, but for those that were cut off or withheld: they have no outcome."""
    found = {}
    for first in range(0, len(sessions), SESSIONS_AT_A_TIME):
        for pk, turns in read_turns(sessions[first : first + SESSIONS_AT_A_TIME]).items():
            last = turns[-1].result if turns else None
            if last is not None and not explain_end(last.attempt.finish_reason):
                found[pk] = read_words(last.answer)
    return found
