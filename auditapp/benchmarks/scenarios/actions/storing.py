"""Store ended sessions as masked trajectories of the study, which are assigned and coded like any other threads.

A session with a turn that got no answer is not stored, because its thread would look like a case that ended early, and would count
as such in every figure about episodes and pairs. It is kept as failed and counted in the report. Asking its turns again reopens it.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches import launching
from auditapp.batches.actions import lock_batch
from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.actions.asking import check_open, hold_session
from auditapp.benchmarks.scenarios.models import Session
from auditapp.benchmarks.scenarios.pure.outcomes import (
    AnsweredQuestion,
    Talk,
    place_answers,
    place_questions,
    write_known_line,
    write_line,
)
from auditapp.benchmarks.scenarios.queries.runs import KIND, list_run_interviews, run_sessions
from auditapp.benchmarks.scenarios.queries.sessions import (
    AskedTurn,
    Exchange,
    describe_result,
    group_ended,
    read_talk,
    read_turns,
)
from transcripts.audit_trail import trail
from transcripts.blinding.actions import open_later_interviews
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Interview, Kind, MaskedFacts
from transcripts.corpus.pure.previews import Choices
from transcripts.negotiation.actions import pair_threads, write_case_sheet
from transcripts.negotiation.queries.cases import list_features
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_reason, check_text

FORMAT = "interview_jsonl"
SESSIONS_AT_A_TIME = 25
SESSIONS_IN_A_SWEEP = 100

logger = logging.getLogger(__name__)


def sweep_sessions() -> None:
    """Store some of the ended sessions, in the worker that runs the sweep. A batch whose sessions cannot be stored is logged and
    does not delay other batches."""
    batches = Batch.objects.filter(kind=KIND, arms__sessions__state=Session.State.OPEN).exclude(
        state=Batch.State.PLANNING
    )
    left = SESSIONS_IN_A_SWEEP
    for batch in batches.select_related("study").distinct().order_by("pk"):
        try:
            left -= store_sessions(batch, limit=left)
        except Exception:
            logger.exception("Sessions of batch %s could not be stored; the next sweep will try again", batch.pk)
        if left <= 0:
            return


def store_sessions(batch: Batch, *, limit: int | None = None) -> int:
    """Store the ended sessions of a batch, each only once, however often this is called.

    Returns how many were stored. At most about ``limit`` are stored, and the sessions of one case are always stored together. Each
    becomes a trajectory under a random label, with condition, model, script, batch and repeat sealed. Its case and the intents of
    its turns are on its case sheet, and the two sides of a pair with the same arm and repeat are paired. A case sheet or pair that
    cannot be written is left out and counted in the history. Sessions that cannot be stored do not delay others of the batch:
    ``Refused`` is raised at the end. Reads batch.study.
    """
    if Batch.objects.filter(pk=batch.pk, state=Batch.State.PLANNING).exists():
        return 0
    groups, failed = group_ended(batch.pk, run_sessions(batch))
    if failed:
        _keep_failed(batch)
    stored = 0
    refused: Refused | None = None
    part: list[int] = []
    for place, group in enumerate(groups, 1):
        part += group
        is_last = place == len(groups) or (limit is not None and stored + len(part) >= limit)
        if is_last or len(part) >= SESSIONS_AT_A_TIME:
            try:
                stored += _store(batch, part)
            except Refused as error:
                refused = refused or error
                is_last = place == len(groups)
            part = []
        if is_last:
            break
    if refused is not None:
        raise refused
    return stored


def store_when_ended(batch: Batch) -> None:
    """Store the sessions of a batch of scenarios that has just ended, after its end is committed. If this fails, the next sweep
    tries again."""
    if batch.kind == KIND:
        # A lambda, because Django logs a failure under the function's name, and a partial has none.
        transaction.on_commit(lambda: store_sessions(batch, limit=SESSIONS_IN_A_SWEEP), robust=True)


@transaction.atomic
def _keep_failed(batch: Batch) -> None:
    # Asking cells again takes this lock too, so that no session is marked as failed while its turns are being asked again.
    lock_batch(batch)
    _, failed = group_ended(batch.pk, run_sessions(batch))
    count = Session.objects.filter(pk__in=failed, state=Session.State.OPEN).update(
        state=Session.State.FAILED, ended_at=timezone.now()
    )
    if count:
        _record("scenarios.sessions.failed", batch, count)


@transaction.atomic
def _store(batch: Batch, keys: Sequence[int]) -> int:
    """Store these sessions, all of whose turns are answered, unless another worker has stored them in the meantime."""
    held = Session.objects.select_for_update(of=("self",)).filter(pk__in=keys, state=Session.State.OPEN)
    sessions = list(held.select_related("script", "arm__variant").order_by("pk"))
    if not sessions:
        return 0
    turns = read_turns(sessions)
    talks = {session.pk: _build_talk(batch, session, turns[session.pk]) for session in sessions}
    # Masked threads are numbered in the order of their labels, which are random. The order in the file is random too.
    lines = [write_line(talk) for talk in talks.values()]
    random.SystemRandom().shuffle(lines)
    import_files(
        study=batch.study,
        files=[(f"sessions-{batch.pk}-{sessions[0].pk}.jsonl", "".join(lines).encode())],
        by=trail.SYSTEM,
        choices=Choices(FORMAT, mask=True),
    )
    before = list_run_interviews(batch)
    ids = {talk.external_id: pk for pk, talk in talks.items()}
    facts = MaskedFacts.objects.filter(interview__owning_study=batch.study, external_id__in=ids).select_related(
        "interview"
    )
    threads = {ids[each.external_id]: each.interview for each in facts}
    now = timezone.now()
    for session in sessions:
        session.interview, session.state, session.ended_at = threads[session.pk], Session.State.STORED, now
    Session.objects.bulk_update(sessions, ["interview", "state", "ended_at"])
    open_later_interviews(study=batch.study, before=before, stored=list(threads.values()))
    # In the order of the labels, like the threads.
    sessions.sort(key=lambda session: threads[session.pk].mask_label)
    known = set(list_features(batch.study))
    sheets = sum(not _write_sheet(session, threads[session.pk], talks[session.pk], known) for session in sessions)
    pairs = _pair_sides(sessions)
    left_out = {"sheets_left_out": sheets, "pairs_left_out": pairs}
    _record(
        "scenarios.sessions.stored", batch, len(sessions), **{name: count for name, count in left_out.items() if count}
    )
    return len(sessions)


def _build_talk(batch: Batch, session: Session, turns: Sequence[AskedTurn]) -> Talk:
    script, arm = session.script, session.arm
    assert arm is not None  # noqa: S101  (said by a constraint: only recorded sessions have none)
    facts: dict[str, Any] = {
        "title": session.label,
        "model": arm.variant.label,
        "surface": session.surface,
        "period": timezone.localtime(session.opened_at).date().isoformat(),
        "interviewer": "script",
        "opening_prompt": turns[0].said,
        "language": script.language,
        "consent": {**script.consents, "basis": script.consent_basis} if script.consents else None,
        # All other keys are sealed as a whole.
        "condition": arm.task,
        "suite": script.suite,
        "script": script.label,
        "repeat": session.repeat,
        "batch": batch.pk,
        "session": session.pk,
        "reasoning": arm.variant.reasoning,
    }
    return Talk(
        external_id=f"session-{session.pk}-{script.sha256[:8]}",
        questions=[
            AnsweredQuestion(
                text=turn.said,
                kind=turn.question.kind,
                answer=turn.result.answer if turn.result else "",
                reasoning=turn.result.reasoning if turn.result else "",
                intent=turn.question.intent,
                details=describe_result(turn.result),
            )
            for turn in turns
        ],
        system="\n\n".join(text for text in (arm.system_prompt, script.system) if text),
        kind=Kind.TRAJECTORY,
        facts=facts,
    )


def _write_sheet(session: Session, thread: Interview, talk: Talk, known: set[str]) -> bool:
    """Write the case and the intents of its turns on the thread's case sheet. Returns whether this succeeded. Features that were
    removed from the codebook after the launch are left out."""
    case = session.script.case
    relevant, irrelevant = (
        [row for row in case.get(side, []) if row["feature"] in known] for side in ("relevant", "irrelevant")
    )
    asked = zip(place_questions(talk), talk.questions, strict=True)
    intents = {str(place): each.intent for place, each in asked if each.intent}
    if not (relevant or irrelevant or intents):
        return True
    try:
        write_case_sheet(
            study=session.study,
            interview=thread,
            relevant=relevant,
            irrelevant=irrelevant,
            intents=intents,
            by=trail.SYSTEM,
        )
    except Refused as error:
        # The message of the refusal is not logged, because it may quote the case.
        logger.warning(
            "The case sheet of session %s cannot be written: its %s cannot be stored", session.pk, error.field or "text"
        )
        return False
    return True


def _pair_sides(sessions: Sequence[Session]) -> int:
    """Pair each of these sessions with its other side of the same arm and repeat, if both are stored. Returns how many pairs could
    not be made."""
    arms, repeats = {session.arm_id for session in sessions}, {session.repeat for session in sessions}
    stored = Session.objects.filter(arm__in=arms, repeat__in=repeats, state=Session.State.STORED)
    sides: dict[tuple[object, ...], Session] = {}
    for session in stored.filter(script__case__has_key="pair").select_related("script", "interview"):
        pair = session.script.case["pair"]
        sides[session.arm_id, session.repeat, pair["id"], pair["side"]] = session
    refused = set()
    for session in sessions:
        if pair := session.script.case.get("pair"):
            both = [sides.get((session.arm_id, session.repeat, pair["id"], side)) for side in ("a", "b")]
            if not _pair(session, pair, *(side.interview if side else None for side in both)):
                refused.add((session.arm_id, session.repeat, pair["id"]))
    return len(refused)


def _pair(session: Session, pair: Mapping[str, str], a: Interview | None, b: Interview | None) -> bool:
    """Pair two threads if both are stored. Returns false only if the pair could not be made. Its name consists of both labels in
    order, so that it reveals nothing about case, side or condition."""
    if a is None or b is None:
        return True
    name = " ".join(sorted((a.mask_label, b.mask_label)))
    if session.study.thread_pairs.filter(name=name).exists():
        return True
    try:
        pair_threads(
            study=session.study, name=name, a=a, b=b, differs=pair["differs"], expect=pair["expect"], by=trail.SYSTEM
        )
    except Refused as error:
        logger.warning(
            "The pair of session %s cannot be made: its %s cannot be stored", session.pk, error.field or "text"
        )
        return False
    return True


def _record(action: str, batch: Batch, count: int, **more: int) -> None:
    """Record an event that does not say which threads came from which sessions, because people who still have to code them may read
    the history."""
    trail.record(action, target=batch, by=trail.SYSTEM, details={"sessions": count, **more})


MAX_INCLUSION = 50


class Unanswered(NamedTuple):
    """The number of a question that got no answer, and the reason in a few words."""

    question: int
    why: str


class Closed(NamedTuple):
    """The thread that a session became. ``left_out`` counts questions that got no answer, ``unanswered`` names them."""

    interview: Interview
    sha256: str
    turns: int
    sentences: int
    questions: int
    kinds: dict[str, int]
    left_out: int
    unanswered: Sequence[Unanswered]


@transaction.atomic
def close_session(*, session: Session, inclusion: str, reason: str, by: trail.Actor) -> Closed:
    """Store an interview as a thread of the study: from then on it can be coded, and nothing can be added.

    It is written as a line of interview_jsonl and imported, so its bytes, hash and sentences are the same as for an imported
    file. The kinds of its questions are included; their intents are written only on the thread's case sheet. A branch is stored
    after the session that it branches from, and is attached to that session's turn. ``inclusion`` says whether the interview is
    analysed, with a ``reason``. A last question that got no answer is left out, and the thread states this with the reason.
    Raises ``Refused``.
    """
    session = hold_session(session)
    check_open(session)
    inclusion = check_text(
        inclusion,
        field="inclusion",
        max_length=MAX_INCLUSION,
        needed="Say whether the interview will be analysed: included, excluded, or a word of your own.",
        one_line=True,
    )
    reason = check_reason(reason, needed="Give the reason in a few words.", one_line=True)
    own = [each for each in read_talk(session) if not each.is_shared]
    if any(each.is_waiting for each in own):
        raise Refused("An answer has not arrived yet. Wait for it, or give up the question, then close the interview.")
    answered = [each for each in own if each.has_result]
    if not any(each.answer.strip() for each in answered):
        raise Refused("The model has said nothing in this session, so there is nothing to store. Discard it.")
    unanswered = list_unanswered(own)
    talk = build_talk(session, answered, unanswered=unanswered, inclusion=inclusion, reason=reason)
    interview, sha256 = store_talk(session, talk, by=by)
    end_session(session, state=Session.State.STORED, interview=interview, inclusion=inclusion, reason=reason)
    _store_intents(session, interview, answered, talk, by=by)
    close_calls(session, by=by)
    kinds = Counter(each.question.kind for each in answered)
    closed = Closed(
        interview,
        sha256,
        interview.turn_count,
        interview.sentence_count,
        len(answered),
        dict(sorted(kinds.items())),
        len(unanswered),
        unanswered,
    )
    trail.record(
        "session.closed",
        target=session,
        by=by,
        details={
            "interview": interview.pk,
            "questions": closed.questions,
            "left_out": closed.left_out,
            **_tell(unanswered),
        },
    )
    return closed


@transaction.atomic
def discard_session(*, session: Session, reason: str, by: trail.Actor) -> None:
    """End a session without storing it as a thread. What was said and paid for is kept. Raises ``Refused``."""
    session = hold_session(session)
    check_open(session)
    reason = check_reason(reason, needed="Say why it is discarded.", one_line=True)
    if session.branches.exclude(state=Session.State.DISCARDED).exists():
        raise Refused(
            "Other sessions branch from this one, so it cannot be discarded. Discard those first, or close this one."
        )
    own = [each for each in read_talk(session) if not each.is_shared]
    if any(each.is_waiting for each in own):
        raise Refused(
            "An answer has not arrived yet. Wait for it, or give up the question, then discard the interview."
        )
    end_session(session, state=Session.State.DISCARDED, reason=reason)
    close_calls(session, by=by)
    trail.record(
        "session.discarded", target=session, by=by, details={"questions": len(own), **_tell(list_unanswered(own))}
    )


def list_unanswered(talk: Sequence[Exchange]) -> list[Unanswered]:
    """The questions that got no answer, not even an empty one, with the reasons."""
    return [
        Unanswered(each.number, each.counting.failure if each.counting else "") for each in talk if not each.has_result
    ]


def _tell(unanswered: Sequence[Unanswered]) -> dict[str, object]:
    return {"unanswered": [each._asdict() for each in unanswered]} if unanswered else {}


def build_talk(
    session: Session,
    answered: Sequence[Exchange],
    *,
    unanswered: Sequence[Unanswered] = (),
    inclusion: str = "",
    reason: str = "",
) -> Talk:
    """The thread of a session with these questions and answers. Reads session.script, session.branch_of, session.arm."""
    is_branch = session.branch_of is not None
    script = session.script
    model = session.arm.variant.label if session.arm else session.model_as_shown
    facts: dict[str, Any] = {
        "title": session.label,
        "model": model,
        "vendor": session.vendor,
        "surface": session.surface,
        "period": timezone.localtime(session.opened_at).date().isoformat(),
        "interviewer": session.opened_by_name,
        "tier": session.tier,
        "inclusion": inclusion,
        "inclusion_reason": reason,
        "opening_prompt": answered[0].question.text if answered and not is_branch else "",
        "language": script.language,
        "script": script.label,
        "opening": session.opening,
        "session": str(session.pk),
        "unanswered": "; ".join(f"Question {each.question}: {each.why}" for each in unanswered),
        "consent": {**script.consents, "basis": script.consent_basis} if script.consents else None,
    }
    return Talk(
        external_id=name_thread(session),
        questions=_list_questions(answered),
        system="" if is_branch else script.system,
        hangs_on=_find_turn(session),
        facts=facts,
    )


def find_places(session: Session, talk: Sequence[Exchange]) -> dict[int, int]:
    """The turn, from 1, that each question of a session has or will have in the thread, by the number of the question. Questions
    without an answer are in no thread, and questions that a branch shares are in the other thread."""
    own = [each for each in talk if not each.is_shared and each.has_result]
    system = "" if session.branch_of else session.script.system
    places = place_questions(Talk(external_id="", questions=_list_questions(own), system=system))
    return dict(zip((each.number for each in own), places, strict=True))


def _list_questions(answered: Sequence[Exchange]) -> list[AnsweredQuestion]:
    return [
        AnsweredQuestion(
            text=each.question.text,
            kind=each.question.kind,
            answer=each.answer,
            reasoning=each.reasoning,
            intent=each.question.intent,
            details=each.list_details(),
        )
        for each in answered
    ]


def name_thread(session: Session) -> str:
    """The id of the thread that a session becomes."""
    return f"session-{session.pk}"


def store_talk(session: Session, talk: Talk, *, by: trail.Actor) -> tuple[Interview, str]:
    """Import the thread of a session. Returns it with the hash of the file. Raises ``Refused``."""
    lines = [write_line(talk)]
    if session.branch_of is not None and session.branch_of.interview is not None:
        lines.insert(0, _write_parent(session.branch_of.interview))
    data = "".join(lines).encode()
    try:
        report = import_files(
            study=session.study, files=[(f"{talk.external_id}.jsonl", data)], by=by, format="interview_jsonl"
        )[0]
    except Refused as error:
        raise Refused(f"The interview cannot be stored. {error}") from error
    return session.study.every_interview.kept().get(external_id=talk.external_id), report.sha256


def end_session(
    session: Session, *, state: str, interview: Interview | None = None, inclusion: str = "", reason: str = ""
) -> None:
    """Set how a session has ended."""
    session.state, session.interview, session.ended_at = Session.State(state), interview, timezone.now()
    session.inclusion, session.inclusion_reason = inclusion, reason
    session.save(update_fields=["state", "interview", "ended_at", "inclusion", "inclusion_reason"])


def close_calls(session: Session, *, by: trail.Actor) -> None:
    """Close the batch of a session if no other session in it is open."""
    if session.arm is not None and not Session.objects.filter(arm=session.arm, state=Session.State.OPEN).exists():
        launching.close_batch(batch=session.arm.batch, by=by)


def _find_turn(session: Session) -> tuple[str, int] | None:
    """The thread and turn to which a branch is attached. Raises ``Refused`` if that thread is not stored yet."""
    left = session.branch_of
    if left is None:
        return None
    if left.interview is None or left.interview.owning_study_id is None:
        raise Refused(
            f"This session branches from “{left.label}”, which is not stored. Close that one first, because the branch continues "
            "from one of its turns."
        )
    own = [each for each in read_talk(left) if not each.is_shared and each.has_result]
    numbers = [each.number for each in own]
    # These are the same turns as when the thread was stored, even if kinds of prompts have been corrected since.
    place = place_answers(build_talk(left, own))[numbers.index(session.after_position or 0)]
    return left.interview.external_id, place


def _write_parent(interview: Interview) -> str:
    """The line of the thread that a branch continues, in its current state."""
    turns = interview.turns.order_by("position").values_list("role", "channel", "prompt_kind", "text")
    return write_known_line(interview.external_id, list(turns))


def _store_intents(
    session: Session, interview: Interview, answered: Sequence[Exchange], talk: Talk, *, by: trail.Actor
) -> None:
    """Write the intents of the questions on the thread's case sheet."""
    meant = zip(place_questions(talk), answered, strict=True)
    intents = {str(place): each.question.intent for place, each in meant if each.question.intent}
    if intents:
        write_case_sheet(study=session.study, interview=interview, relevant=[], irrelevant=[], intents=intents, by=by)
