"""Asking in a play: a question is checked and stored before a worker sends it, so that nothing typed is lost. Nothing that was said
is written over: asking again adds an attempt to the same turn, and what is asked otherwise is a branch.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from auditapp.batches import launching
from auditapp.batches.actions import retry_failed
from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.scenarios.errors import AskedMeanwhile
from auditapp.benchmarks.scenarios.models import Play, Question
from auditapp.benchmarks.scenarios.pure.outcomes import EMPTY, WAITING
from auditapp.benchmarks.scenarios.queries.talks import Exchange, read_talk
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.formats.interviews.base import MAX_TURN_SIZE
from transcripts.refusals import Refused

KINDS = dict(Question.Kind.choices)
INTENTS = dict(Question.Intent.choices)
# Characters: about three pages. The published opening has a quarter of it.
LONG_QUESTION = 8_000
WITH_INTENT = (Question.Kind.CHALLENGE, Question.Kind.NEW_INFORMATION)


def check_said(text: str, *, field: str, what: str, may_be_empty: bool = False) -> str:
    """``text`` as it is stored and sent: exactly as it was typed, with line ends alike. ``what`` names it: "The question". Raises
    ``Refused``."""
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
            f"{what} has {size:,} bytes; a turn may have {MAX_TURN_SIZE:,}. Shorten it, or say it in two turns.",
            field=field,
        )
    return text


def find_length(text: str) -> int:
    """How many characters are sent of ``text``, line ends alike."""
    return len(text.replace("\r\n", "\n"))


def check_kind(kind: str, intent: str) -> tuple[str, str]:
    """The kind of a question and what it is meant to be. Raises ``Refused``.

    A challenge says what it is meant to be; new information may.
    """
    if not kind:
        raise Refused(f"Choose the kind of the question: {_list(KINDS)}.", field="kind")
    if kind not in KINDS:
        raise Refused(f"There is no kind “{kind[:40]}”. Choose one of {_list(KINDS)}.", field="kind")
    if intent and intent not in INTENTS:
        raise Refused(f"There is no “{intent[:40]}”. Choose one of {_list(INTENTS)}.", field="intent")
    if kind == Question.Kind.CHALLENGE and not intent:
        raise Refused(f"Say what the challenge is meant to be: {_list(INTENTS)}.", field="intent")
    if intent and kind not in WITH_INTENT:
        raise Refused(
            "Only a challenge and new information say what they are meant to be. Leave that out, or choose another kind.",
            field="intent",
        )
    return kind, intent


def _list(names: dict[str, str]) -> str:
    return ", ".join(names)


@transaction.atomic
def ask(
    *,
    play: Play,
    kind: str,
    text: str,
    intent: str = "",
    by: trail.Actor,
    seen: int | None = None,
    idempotency_key: UUID | None = None,
) -> Question:
    """Ask the model of a play the next question; a worker sends it with all that was said before.

    ``seen``: the number of the last question that the person saw, 0 for none; another one since raises ``AskedMeanwhile``. The
    same ``idempotency_key`` again gives the question it made. Raises ``Refused``.
    """
    play = hold_play(play)
    if (stored := _find_asked(play, idempotency_key)) is not None:
        return stored
    _check_mode(play, Play.Mode.ASKED)
    kind, intent = check_kind(kind, intent)
    text = check_said(text, field="text", what="The question")
    before = read_talk(play)
    _check_turn(play, before, seen, text)
    question = _store(play, before, kind=kind, intent=intent, text=text, by=by, idempotency_key=idempotency_key)
    send(play, question, after=before[-1] if before else None, by=by)
    _record("play.asked", play, question, by=by)
    return question


@transaction.atomic
def ask_again(*, play: Play, number: int, by: trail.Actor) -> Question:
    """Ask the last question once more: an attempt, no turn. The answer that was there is kept; the new one counts.

    Raises ``Refused``.
    """
    play = hold_play(play)
    _check_mode(play, Play.Mode.ASKED)
    talk = read_talk(play)
    last = talk[-1] if talk else None
    if last is None or last.is_shared or last.number != number:
        raise Refused(
            f"Only the last question of this play can be asked again, and question {number} is not. Ask otherwise from there."
        )
    if last.is_waiting:
        raise Refused(f"The answer to question {number} is still awaited. Wait for it.")
    failed = last.counting if last.counting and last.counting.cell.state == Cell.State.FAILED else None
    if failed and play.arm:
        retry_failed(batch=play.arm.batch, only=[failed.cell.pk], by=by)
    else:
        send(play, last.question, after=talk[-2] if len(talk) > 1 else None, by=by, repeat=len(last.tries) + 1)
    _record("play.asked_again", play, last.question, by=by)
    return last.question


@transaction.atomic
def give_up(*, play: Play, number: int, by: trail.Actor) -> Question:
    """Wait no longer for the answer to the last question: nothing more is sent for it. It stays as one that got no answer, and the
    interview can be closed with what was said, or discarded. Not while a call of it is under way. Raises ``Refused``.
    """
    play = hold_play(play)
    _check_mode(play, Play.Mode.ASKED)
    talk = read_talk(play)
    last = talk[-1] if talk else None
    if last is None or play.arm is None or last.is_shared or last.number != number or not last.is_waiting:
        raise Refused(f"No answer to question {number} is waited for in this play. Reload the page.")
    waiting = [each.cell.pk for each in last.tries if each.is_under_way]
    launching.give_up_cells(batch=play.arm.batch, cells=waiting, by=by)
    _record("play.given_up", play, last.question, by=by)
    return last.question


@transaction.atomic
def record_answer(
    *,
    play: Play,
    kind: str,
    text: str,
    answer: str,
    reasoning: str = "",
    intent: str = "",
    by: trail.Actor,
    seen: int | None = None,
    idempotency_key: UUID | None = None,
) -> Question:
    """Store a question and its answer, both as they stand on a public chat page. For ``seen`` and ``idempotency_key`` see ``ask``.

    Raises ``Refused``.
    """
    play = hold_play(play)
    if (stored := _find_asked(play, idempotency_key)) is not None:
        return stored
    _check_mode(play, Play.Mode.RECORDED)
    kind, intent = check_kind(kind, intent)
    text = check_said(text, field="text", what="The question")
    answer = check_said(answer, field="answer", what="The answer")
    reasoning = check_said(reasoning, field="reasoning", what="The reasoning", may_be_empty=True)
    before = read_talk(play)
    _check_turn(play, before, seen, text)
    question = _store(
        play,
        before,
        kind=kind,
        intent=intent,
        text=text,
        by=by,
        idempotency_key=idempotency_key,
        answer=answer,
        reasoning=reasoning,
    )
    _record("play.recorded", play, question, by=by)
    return question


def hold_play(play: Play) -> Play:
    """The play as it stands now, held until the transaction ends."""
    return (
        Play.objects.select_for_update(of=("self",)).select_related("script", "branch_of", "arm__batch").get(pk=play.pk)
    )


def check_open(play: Play) -> None:
    """Raise ``Refused`` for a play that has ended."""
    if play.state != Play.State.OPEN:
        ended = {
            Play.State.STORED: "It is closed and stored as an interview, so nothing can be added.",
            Play.State.DISCARDED: "It was discarded, so nothing can be added.",
            Play.State.FAILED: "It has failed, so nothing can be added.",
        }[Play.State(play.state)]
        raise Refused(f"{ended} Open a new one.")


def send(play: Play, question: Question, *, after: Exchange | None, by: trail.Actor, repeat: int = 1) -> None:
    """Have a worker ask the question, behind what was said before it. The play has an arm."""
    if play.arm is None:
        raise Refused("This interview is recorded from a chat page, so nothing is sent.")
    forerunner = after.counting.cell if after and after.counting else None
    launching.add_cell(batch=play.arm.batch, arm=play.arm, input_id=question.pk, repeat=repeat, after=forerunner, by=by)


def _find_asked(play: Play, idempotency_key: UUID | None) -> Question | None:
    """What was stored under this id already. Raises ``Refused`` where it was in another play."""
    stored = Question.objects.filter(idempotency_key=idempotency_key).first() if idempotency_key else None
    if stored is not None and stored.play_id != play.pk:
        raise Refused("This form was sent in another play already. Reload the page.", field="idempotency_key")
    return stored


def _check_mode(play: Play, mode: str) -> None:
    check_open(play)
    if play.mode != mode:
        raise Refused(
            "This interview is recorded from a chat page: paste question and answer."
            if play.mode == Play.Mode.RECORDED
            else "This interview is held here: ask the question, and a worker fetches the answer."
        )
    if play.arm is not None and not play.arm.batch.is_open:
        state = Batch.State(play.arm.batch.state).label.lower()
        raise Refused(f"Batch {play.arm.batch_id}, which makes its calls, is {state}. Close the interview as it is.")


def _check_turn(play: Play, before: list[Exchange], seen: int | None, text: str) -> None:
    """It is the interviewer's turn, she has seen what was said, and the script allows one more."""
    last = before[-1] if before else None
    number = last.number if last else 0
    if last is not None and seen is not None and seen != number:
        raise AskedMeanwhile(number, last.question.text, text)
    if last is not None and not last.is_answered:
        raise Refused(_explain_unanswered(last))
    limit = play.script.max_questions
    if limit is not None and number >= limit:
        raise Refused(
            f"The script {play.script.label} allows {limit} questions, and all of them are asked. Close the interview, or ask "
            "otherwise from an earlier turn."
        )


def _explain_unanswered(last: Exchange) -> str:
    if last.state == WAITING:
        return f"The model has not answered question {last.number} yet. Wait for its answer, then ask the next."
    what = "was answered without a word" if last.state == EMPTY else "got no answer"
    other = f"ask otherwise from answer {last.number - 1}" if last.number > 1 else "open another interview"
    return f"Question {last.number} {what}, so nothing can follow it. Ask it again, or {other}."


def _store(
    play: Play,
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
        play=play,
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


def _record(action: str, play: Play, question: Question, *, by: trail.Actor) -> None:
    """What a question is meant to be is not told: people who will code the thread may read the history."""
    trail.record(
        action,
        target=play,
        by=by,
        details={"question": question.pk, "position": question.position, "kind": question.kind},
    )
