"""Asking questions in a session: a question is checked and stored before a worker sends it, so that nothing typed is lost. Nothing
that was said is overwritten: asking again adds an attempt to the same turn, and a different question makes a branch.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from auditapp.batches import launching
from auditapp.batches.actions import retry_failed
from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.scenarios.models import Question, Session
from auditapp.benchmarks.scenarios.pure.outcomes import EMPTY, WAITING
from auditapp.benchmarks.scenarios.queries.sessions import Exchange, read_talk
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.interviews.base import MAX_TURN_SIZE
from transcripts.refusals import Refused


class AskedMeanwhile(Refused):
    """Another question was asked in a session after the person last saw the session: ``stored``, with the number ``number``.
    ``text`` is the person's own question."""

    def __init__(self, number: int, stored: str, text: str) -> None:
        super().__init__(
            f"Question {number} was asked in the meantime, in another window or by another person. Yours was not sent. Read both, "
            "and send yours again if it still fits."
        )
        self.number, self.stored, self.text = number, stored, text


KINDS = dict(Question.Kind.choices)
INTENTS = dict(Question.Intent.choices)
# In characters: about three pages. The published opening has a quarter of this length.
LONG_QUESTION = 8_000
WITH_INTENT = (Question.Kind.CHALLENGE, Question.Kind.NEW_INFORMATION)


def check_said(text: str, *, field: str, what: str, may_be_empty: bool = False) -> str:
    """``text`` in the form in which it is stored and sent: exactly as it was typed, but with uniform line ends. ``what`` is its
    name in a refusal, such as "The question". Raises ``Refused``."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        if may_be_empty:
            return ""
        raise Refused(f"{what} is empty. Write it first.", field=field)
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(
            f"{what} contains a character that cannot be stored, such as a null character. Remove it.", field=field
        )
    size = len(text.encode())
    if size > MAX_TURN_SIZE:
        raise Refused(
            f"{what} has {size:,} bytes; a turn may have {MAX_TURN_SIZE:,}. Shorten it, or split it into two turns.",
            field=field,
        )
    return text


def find_length(text: str) -> int:
    """How many characters of ``text`` are sent, with uniform line ends."""
    return len(text.replace("\r\n", "\n"))


def check_kind(kind: str, intent: str) -> tuple[str, str]:
    """The kind of a question and its intent. Raises ``Refused``.

    A challenge must have an intent; new information may have one.
    """
    if not kind:
        raise Refused(f"Choose the kind of the question: {_list(KINDS)}.", field="kind")
    if kind not in KINDS:
        raise Refused(f"There is no kind “{kind[:40]}”. Choose one of {_list(KINDS)}.", field="kind")
    if intent and intent not in INTENTS:
        raise Refused(f"There is no “{intent[:40]}”. Choose one of {_list(INTENTS)}.", field="intent")
    if kind == Question.Kind.CHALLENGE and not intent:
        raise Refused(f"Choose the intent of the challenge: {_list(INTENTS)}.", field="intent")
    if intent and kind not in WITH_INTENT:
        raise Refused(
            "Only a challenge or new information has an intent. Leave it out, or choose another kind.", field="intent"
        )
    return kind, intent


def _list(names: dict[str, str]) -> str:
    return ", ".join(names)


@transaction.atomic
def ask(
    *,
    session: Session,
    kind: str,
    text: str,
    intent: str = "",
    by: trail.Actor,
    seen: int | None = None,
    idempotency_key: UUID | None = None,
) -> Question:
    """Ask the model of a session the next question; a worker sends it with everything that was said before.

    ``seen``: the number of the last question that the person saw, 0 for none; if another was asked since, ``AskedMeanwhile`` is
    raised. The same ``idempotency_key`` returns the question that was made with it. Raises ``Refused``.
    """
    session = hold_session(session)
    if (stored := _find_asked(session, idempotency_key)) is not None:
        return stored
    _check_mode(session, Session.Mode.ASKED)
    kind, intent = check_kind(kind, intent)
    text = check_said(text, field="text", what="The question")
    before = read_talk(session)
    _check_turn(session, before, seen, text)
    question = _store(session, before, kind=kind, intent=intent, text=text, by=by, idempotency_key=idempotency_key)
    send(session, question, after=before[-1] if before else None, by=by)
    _record("session.asked", session, question, by=by)
    return question


@transaction.atomic
def ask_again(*, session: Session, number: int, by: trail.Actor) -> Question:
    """Ask the last question once more, as another attempt at the same turn.

    The earlier answer is kept, and the new one counts. Raises ``Refused``.
    """
    session = hold_session(session)
    _check_mode(session, Session.Mode.ASKED)
    talk = read_talk(session)
    last = talk[-1] if talk else None
    if last is None or last.is_shared or last.number != number:
        raise Refused(
            f"Only the last question of this session can be asked again, and question {number} is not the last. You can ask a "
            "different question from there."
        )
    if last.is_waiting:
        raise Refused(f"The answer to question {number} has not arrived yet. Wait for it.")
    failed = last.counting if last.counting and last.counting.cell.state == Cell.State.FAILED else None
    if failed and session.arm:
        retry_failed(batch=session.arm.batch, only=[failed.cell.pk], by=by)
    else:
        send(session, last.question, after=talk[-2] if len(talk) > 1 else None, by=by, repeat=len(last.tries) + 1)
    _record("session.asked_again", session, last.question, by=by)
    return last.question


@transaction.atomic
def give_up(*, session: Session, number: int, by: trail.Actor) -> Question:
    """Stop waiting for the answer to the last question: nothing more is sent for it. It is kept as a question without an
    answer, and the interview can be closed with what was said, or discarded. This is refused while a call for it is in progress.
    Raises ``Refused``.
    """
    session = hold_session(session)
    _check_mode(session, Session.Mode.ASKED)
    talk = read_talk(session)
    last = talk[-1] if talk else None
    if last is None or session.arm is None or last.is_shared or last.number != number or not last.is_waiting:
        raise Refused(f"No answer to question {number} is pending in this session. Reload the page.")
    waiting = [each.cell.pk for each in last.tries if each.is_under_way]
    launching.give_up_cells(batch=session.arm.batch, cells=waiting, by=by)
    _record("session.given_up", session, last.question, by=by)
    return last.question


@transaction.atomic
def record_answer(
    *,
    session: Session,
    kind: str,
    text: str,
    answer: str,
    reasoning: str = "",
    intent: str = "",
    by: trail.Actor,
    seen: int | None = None,
    idempotency_key: UUID | None = None,
) -> Question:
    """Store a question and its answer, both as shown on a public chat page. For ``seen`` and ``idempotency_key``, see ``ask``.

    Raises ``Refused``.
    """
    session = hold_session(session)
    if (stored := _find_asked(session, idempotency_key)) is not None:
        return stored
    _check_mode(session, Session.Mode.RECORDED)
    kind, intent = check_kind(kind, intent)
    text = check_said(text, field="text", what="The question")
    answer = check_said(answer, field="answer", what="The answer")
    reasoning = check_said(reasoning, field="reasoning", what="The reasoning", may_be_empty=True)
    before = read_talk(session)
    _check_turn(session, before, seen, text)
    question = _store(
        session,
        before,
        kind=kind,
        intent=intent,
        text=text,
        by=by,
        idempotency_key=idempotency_key,
        answer=answer,
        reasoning=reasoning,
    )
    _record("session.recorded", session, question, by=by)
    return question


def hold_session(session: Session) -> Session:
    """The current state of the session, locked until the transaction ends."""
    return (
        Session.objects.select_for_update(of=("self",))
        .select_related("script", "branch_of", "arm__batch")
        .get(pk=session.pk)
    )


def check_open(session: Session) -> None:
    """Raise ``Refused`` for a session that has ended."""
    if session.state != Session.State.OPEN:
        ended = {
            Session.State.STORED: "It is closed and stored as an interview, so nothing can be added.",
            Session.State.DISCARDED: "It was discarded, so nothing can be added.",
            Session.State.FAILED: "It has failed, so nothing can be added.",
        }[Session.State(session.state)]
        raise Refused(f"{ended} Open a new one.")


def send(session: Session, question: Question, *, after: Exchange | None, by: trail.Actor, repeat: int = 1) -> None:
    """Have a worker ask the question with everything that was said before it. The session must have an arm."""
    if session.arm is None:
        raise Refused("This interview is recorded from a chat page, so nothing is sent.")
    previous = after.counting.cell if after and after.counting else None
    launching.add_cell(
        batch=session.arm.batch, arm=session.arm, input_id=question.pk, repeat=repeat, after=previous, by=by
    )


def _find_asked(session: Session, idempotency_key: UUID | None) -> Question | None:
    """The question that was already stored with this key. Raises ``Refused`` if it was stored in another session."""
    stored = Question.objects.filter(idempotency_key=idempotency_key).first() if idempotency_key else None
    if stored is not None and stored.session_id != session.pk:
        raise Refused("This form was already sent in another session. Reload the page.", field="idempotency_key")
    return stored


def _check_mode(session: Session, mode: str) -> None:
    check_open(session)
    if session.mode != mode:
        raise Refused(
            "This interview is recorded from a chat page. Paste the question and the answer."
            if session.mode == Session.Mode.RECORDED
            else "This interview is held here. Ask the question, and a worker fetches the answer."
        )
    if session.arm is not None and not session.arm.batch.is_open:
        state = Batch.State(session.arm.batch.state).label.lower()
        raise Refused(f"Batch {session.arm.batch_id}, which makes its calls, is {state}. Close the interview as it is.")


def _check_turn(session: Session, before: list[Exchange], seen: int | None, text: str) -> None:
    """Refuse a question unless it is the interviewer's turn, she has seen everything that was said, and the script allows another
    question."""
    last = before[-1] if before else None
    number = last.number if last else 0
    if last is not None and seen is not None and seen != number:
        raise AskedMeanwhile(number, last.question.text, text)
    if last is not None and not last.is_answered:
        raise Refused(_explain_unanswered(last))
    limit = session.script.max_questions
    if limit is not None and number >= limit:
        raise Refused(
            f"The script {session.script.label} allows {limit} questions, and all of them have been asked. Close the interview, "
            "or ask a different question from an earlier turn."
        )


def _explain_unanswered(last: Exchange) -> str:
    if last.state == WAITING:
        return f"The model has not answered question {last.number} yet. Wait for its answer, then ask the next."
    what = "has an empty answer" if last.state == EMPTY else "got no answer"
    other = f"ask a different question from answer {last.number - 1}" if last.number > 1 else "open another interview"
    return f"Question {last.number} {what}, so nothing can follow it. Ask it again, or {other}."


def _store(
    session: Session,
    before: list[Exchange],
    *,
    kind: str,
    intent: str,
    text: str,
    by: trail.Actor,
    idempotency_key: UUID | None,
    answer: str = "",
    reasoning: str = "",
) -> Question:
    return Question.objects.create(
        session=session,
        position=before[-1].number + 1 if before else 1,
        kind=kind,
        intent=intent,
        text=text,
        answer=answer,
        answer_reasoning=reasoning,
        idempotency_key=idempotency_key,
        asked_at=timezone.now(),
        asked_by=by if isinstance(by, User) else None,
    )


def _record(action: str, session: Session, question: Question, *, by: trail.Actor) -> None:
    """Record an event without the intent of the question, because people who will code the thread may read the history."""
    trail.record(
        action,
        target=session,
        by=by,
        details={"question": question.pk, "position": question.position, "kind": question.kind},
    )
