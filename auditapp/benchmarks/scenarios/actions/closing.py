"""Closing an interview: it becomes a thread of the study by the import that takes in any file, or it is discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches import growing
from auditapp.benchmarks.scenarios.actions.asking import check_open, hold_play
from auditapp.benchmarks.scenarios.models import Play
from auditapp.benchmarks.scenarios.pure.lines import (
    AnsweredQuestion,
    Talk,
    place_answers,
    place_questions,
    write_known_line,
    write_line,
)
from auditapp.benchmarks.scenarios.queries.talks import Exchange, read_talk
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Interview
from transcripts.negotiation.actions.cases import write_case_sheet
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_reason, check_text

MAX_INCLUSION = 50


class Unanswered(NamedTuple):
    """A question that got no answer, by its number, and why in a few words."""

    question: int
    why: str


class Closed(NamedTuple):
    """The thread that a play left. ``left_out`` counts questions that got no answer, ``unanswered`` names them."""

    interview: Interview
    sha256: str
    turns: int
    sentences: int
    questions: int
    kinds: dict[str, int]
    left_out: int
    unanswered: Sequence[Unanswered]


@transaction.atomic
def close_play(*, play: Play, inclusion: str, reason: str, by: trail.Actor) -> Closed:
    """Store an interview as a thread of the study: from then on it can be coded, and nothing can be added.

    It is written as a line of interview_jsonl and imported, so it has the same bytes, hash and sentences as any file. The
    kinds of its questions come along; what they were meant to be goes to the thread's case sheet alone. A branch is stored
    after the play that it leaves and hangs on its turn. ``inclusion`` says whether the interview is analysed, with a
    ``reason``. A last question that got no answer is left out, and the thread says so and why. Raises ``Refused``.
    """
    play = hold_play(play)
    check_open(play)
    inclusion = check_text(
        inclusion,
        field="inclusion",
        max_length=MAX_INCLUSION,
        needed="Say whether the interview is to be analysed: included or excluded, or a word of your own.",
        one_line=True,
    )
    reason = check_reason(reason, needed="Give the reason in a few words.", one_line=True)
    own = [each for each in read_talk(play) if not each.is_shared]
    if any(each.is_waiting for each in own):
        raise Refused("An answer is still awaited. Wait for it, or give the question up, then close the interview.")
    answered = [each for each in own if each.has_result]
    if not any(each.answer.strip() for each in answered):
        raise Refused("The model has said nothing in this play, so there is nothing to store. Discard it.")
    unanswered = list_unanswered(own)
    talk = build_talk(play, answered, unanswered=unanswered, inclusion=inclusion, reason=reason)
    interview, sha256 = store_talk(play, talk, by=by)
    end_play(play, state=Play.State.STORED, interview=interview, inclusion=inclusion, reason=reason)
    _store_intents(play, interview, answered, talk, by=by)
    close_calls(play, by=by)
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
        "play.closed",
        target=play,
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
def discard_play(*, play: Play, reason: str, by: trail.Actor) -> None:
    """End a play without storing it as a thread. What was said and paid for in it is kept. Raises ``Refused``."""
    play = hold_play(play)
    check_open(play)
    reason = check_reason(reason, needed="Say why it is discarded.", one_line=True)
    if play.branches.exclude(state=Play.State.DISCARDED).exists():
        raise Refused("Other plays branch off this one, so it cannot be discarded. Discard those first, or close it.")
    own = [each for each in read_talk(play) if not each.is_shared]
    if any(each.is_waiting for each in own):
        raise Refused("An answer is still awaited. Wait for it, or give the question up, then discard the interview.")
    end_play(play, state=Play.State.DISCARDED, reason=reason)
    close_calls(play, by=by)
    trail.record("play.discarded", target=play, by=by, details={"questions": len(own), **_tell(list_unanswered(own))})


def list_unanswered(talk: Sequence[Exchange]) -> list[Unanswered]:
    """The questions that got no answer, not even an empty one, and why."""
    return [
        Unanswered(each.number, each.counting.failure if each.counting else "") for each in talk if not each.has_result
    ]


def _tell(unanswered: Sequence[Unanswered]) -> dict[str, object]:
    return {"unanswered": [each._asdict() for each in unanswered]} if unanswered else {}


def build_talk(
    play: Play,
    answered: Sequence[Exchange],
    *,
    unanswered: Sequence[Unanswered] = (),
    inclusion: str = "",
    reason: str = "",
) -> Talk:
    """The thread that a play leaves, of these questions and answers. Reads play.script, play.branch_of, play.arm."""
    is_branch = play.branch_of is not None
    script = play.script
    model = play.arm.variant.label if play.arm else play.model_as_shown
    facts: dict[str, Any] = {
        "title": play.label,
        "model": model,
        "vendor": play.vendor,
        "surface": play.surface,
        "period": timezone.localtime(play.opened_at).date().isoformat(),
        "interviewer": play.opened_by_name,
        "tier": play.tier,
        "inclusion": inclusion,
        "inclusion_reason": reason,
        "opening_prompt": answered[0].question.text if answered and not is_branch else "",
        "language": script.language,
        "script": script.label,
        "opening": play.opening,
        "play": str(play.pk),
        "unanswered": "; ".join(f"Question {each.question}: {each.why}" for each in unanswered),
        "consent": {**script.consents, "basis": script.consent_basis} if script.consents else None,
    }
    return Talk(
        external_id=name_thread(play),
        questions=_list_questions(answered),
        system="" if is_branch else script.system,
        hangs_on=_find_turn(play),
        facts=facts,
    )


def find_places(play: Play, talk: Sequence[Exchange]) -> dict[int, int]:
    """The turn of the thread, from 1, that each question of a play is or will be, by its number in the talk. Questions without an
    answer are in no thread, and those that a branch shares are in the other one."""
    own = [each for each in talk if not each.is_shared and each.has_result]
    system = "" if play.branch_of else play.script.system
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


def name_thread(play: Play) -> str:
    """The id of the thread that a play leaves."""
    return f"play-{play.pk}"


def store_talk(play: Play, talk: Talk, *, by: trail.Actor) -> tuple[Interview, str]:
    """Import the thread of a play; it, and the hash of the file. Raises ``Refused``."""
    lines = [write_line(talk)]
    if play.branch_of is not None and play.branch_of.interview is not None:
        lines.insert(0, _write_parent(play.branch_of.interview))
    data = "".join(lines).encode()
    try:
        report = import_files(
            project=play.project, files=[(f"{talk.external_id}.jsonl", data)], by=by, format="interview_jsonl"
        )[0]
    except Refused as error:
        raise Refused(f"The interview cannot be stored. {error}") from error
    return play.project.every_interview.kept().get(external_id=talk.external_id), report.sha256


def end_play(
    play: Play, *, state: str, interview: Interview | None = None, inclusion: str = "", reason: str = ""
) -> None:
    """Set how a play has ended."""
    play.state, play.interview, play.ended_at = Play.State(state), interview, timezone.now()
    play.inclusion, play.inclusion_reason = inclusion, reason
    play.save(update_fields=["state", "interview", "ended_at", "inclusion", "inclusion_reason"])


def close_calls(play: Play, *, by: trail.Actor) -> None:
    """Close the batch of a play, once no other play is open in it."""
    if play.arm is not None and not Play.objects.filter(arm=play.arm, state=Play.State.OPEN).exists():
        growing.close_batch(batch=play.arm.batch, by=by)


def _find_turn(play: Play) -> tuple[str, int] | None:
    """The thread and turn that a branch hangs on. Raises ``Refused`` while that thread is not stored."""
    left = play.branch_of
    if left is None:
        return None
    if left.interview is None or left.interview.study_id is None:
        raise Refused(
            f"This play branches off “{left.label}”, which is not stored. Close that one first: a branch hangs on its turn."
        )
    own = [each for each in read_talk(left) if not each.is_shared and each.has_result]
    numbers = [each.number for each in own]
    # The same turns as when it was stored, wherever its kinds of prompts were corrected since.
    place = place_answers(build_talk(left, own))[numbers.index(play.after_position or 0)]
    return left.interview.external_id, place


def _write_parent(interview: Interview) -> str:
    """The line of the thread that a branch hangs on, as it stands."""
    turns = interview.turns.order_by("position").values_list("role", "channel", "prompt_kind", "text")
    return write_known_line(interview.external_id, list(turns))


def _store_intents(
    play: Play, interview: Interview, answered: Sequence[Exchange], talk: Talk, *, by: trail.Actor
) -> None:
    """Put what the questions were meant to be on the thread's case sheet."""
    meant = zip(place_questions(talk), answered, strict=True)
    intents = {str(place): each.question.intent for place, each in meant if each.question.intent}
    if intents:
        write_case_sheet(project=play.project, interview=interview, relevant=[], irrelevant=[], intents=intents, by=by)
