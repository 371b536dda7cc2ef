"""Showing a person what machines say of a sentence: after her own decision, on record, and never on a withheld turn.

What a person makes of a suggestion. Every answer stays on record, and so does what is taken back.

After a boundary edit a suggestion is answered at the sentence that contains its words now.
"""

from __future__ import annotations

import datetime
import uuid
from collections import Counter
from collections.abc import Mapping

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from auditapp.annotators.models import Suggestion, TurnArm
from auditapp.annotators.queries.boundary_edits import find_current_sentences
from auditapp.annotators.withholding import ensure_arms, find_arms, is_draft
from auditapp.suggestions.models import Response, Showing
from auditapp.suggestions.queries import PanelState, find_look_at, find_present_codes, find_showing, read_panel
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import find_open_draft
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.actions import (
    NotDecided,
    add_coding,
    decide_sentence,
    restore_coding,
    reveal_suggestions,
    withdraw_coding,
)
from transcripts.coding.actions.checks import is_complete
from transcripts.coding.models import Coding, Decision
from transcripts.coding.next_sentence import QUESTION_UNDECIDED, is_question_decided
from transcripts.coding.queries import ActiveLabels, read_active_labels
from transcripts.coding.values import CodingValues, keep_answers
from transcripts.corpus.models import BoundaryEdit, Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Study

Arm = TurnArm.Arm
# Whose turns machines may annotate.
READ_ROLES = (Turn.Role.MODEL, Turn.Role.INTERVIEWER)


@transaction.atomic
def show_suggestions(*, study: Study, sentence: Sentence, by: User) -> PanelState:
    """Show what annotators suggest for the sentence and store that they were shown. Reads sentence.turn.interview.

    What is suggested for the whole turn is shown at its first sentence, after her decision on every sentence of it. Of a turn
    of the interviewer nothing else is suggested; she is through with one as ``coding/next_sentence.py`` says, and it is withheld
    where its answer is.

    Before her own decision only in a draft interview, which opens it for good: what she codes there from now on is
    assisted. On a withheld turn nothing is revealed, so she stays blind. Raises ``NotDecided`` or ``Refused``.
    """
    turn = sentence.turn
    if turn.interview.study_id != study.pk:
        raise Refused("This sentence is not part of this study.")
    current = read_active_labels(sentence.pk, by.pk)
    reads_draft = is_draft(turn.interview_id)
    is_question = turn.role == Turn.Role.INTERVIEWER
    is_through = is_question and is_question_decided(turn, by.pk)
    if is_question and not (reads_draft or is_through):
        raise NotDecided(QUESTION_UNDECIDED)
    if not (is_question or reads_draft or current.decision_id or current.is_revealed):
        raise NotDecided("Decide on this sentence first (Enter at the desk). Then you can open its suggestions.")
    if turn.role not in READ_ROLES or turn.channel != Turn.Channel.UTTERANCE:
        return PanelState()
    # Her own looks are stored one after the other; other people's go on meanwhile.
    User.objects.select_for_update(no_key=True).get(pk=by.pk)
    former = find_showing(sentence, by)
    arms = find_arms([turn.pk])
    if not arms and ensure_arms(study=study, interviews=[turn.interview_id], by=by):
        arms = find_arms([turn.pk])
    if arms and arms[turn.pk].arm == Arm.WITHHELD:
        panel = PanelState(is_draft=reads_draft, is_withheld=True)
    else:
        logged = former.suggestions if former else ()
        panel = read_panel(study, sentence, by, logged=logged, is_draft=reads_draft, is_through=is_through)
        if not panel.annotators:
            return panel
        if reads_draft:
            find_open_draft(study=study, interview=turn.interview, by=by)
        else:
            if not current.is_revealed:
                reveal_suggestions(study=study, sentence=sentence, by=by)
            # What is said of the whole turn is said of all of it: what she codes anywhere in it from now on is assisted.
            for other in Sentence.objects.select_related("turn__interview").filter(pk__in=panel.turn_sentences):
                reveal_suggestions(study=study, sentence=other, by=by)
    panel.showing = _store_look(study, sentence, by, panel, former=former, current=current)
    return panel


def _store_look(
    study: Study, sentence: Sentence, by: User, panel: PanelState, *, former: Showing | None, current: ActiveLabels
) -> Showing:
    """Her look at the panel: the ``former``, if she saw exactly that before. Looks at other sentences are closed."""
    arm = Arm.WITHHELD if panel.is_withheld else Arm.SHOWN
    suggestions = [offer["suggestion"].pk for offer in panel.offers]
    if former is not None and former.arm == arm and set(former.suggestions) == set(suggestions):
        return former
    unit = CodeFamily.Unit.TURN if sentence.turn.role == Turn.Role.INTERVIEWER else CodeFamily.Unit.SENTENCE
    closed, now = _list_open(study, by), timezone.now()
    Showing.objects.filter(pk__in=closed).update(closed_at=now)
    look = Showing.objects.create(
        sentence=sentence,
        coder=by,
        arm=arm,
        is_draft=panel.is_draft and not panel.is_withheld,
        suggestions=suggestions,
        own_codes=sorted(coding.identifier for coding in current.codings if coding.unit == unit),
        shown_at=now,
    )
    trail.record(
        "suggestions.shown",
        target=look,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "sentence": look.sentence_id,
            "arm": look.arm,
            "suggestions": look.suggestions,
            "draft": look.is_draft,
            **({"closed": closed} if closed else {}),
        },
    )
    return look


@transaction.atomic
def close_showings(*, study: Study, by: User) -> int:
    """Say that she has moved on: her looks that are open are closed; how many there were."""
    closed = _list_open(study, by)
    if not Showing.objects.filter(pk__in=closed, closed_at__isnull=True).update(closed_at=timezone.now()):
        return 0
    trail.record(
        "suggestions.closed",
        target=by,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"showings": closed},
    )
    return len(closed)


def _list_open(study: Study, by: User) -> list[int]:
    looks = Showing.objects.filter(coder=by, closed_at__isnull=True, sentence__turn__interview__study=study)
    return list(looks.order_by("pk").values_list("pk", flat=True))


# A coder who has seen others' labels gives a reason for coding on; accepting a suggestion is one.
ACCEPTED_REASON = "suggestion"
UNDONE_REASON = "suggestion taken back"
PLACED_NOWHERE = (
    "The boundaries of its sentence have been corrected, and no single sentence now has all the words of this suggestion. It can "
    "no longer be accepted, rejected or taken back. Code the sentences directly; codings you accepted before still apply."
)


@transaction.atomic
def accept_suggestion(
    *,
    suggestion: Suggestion,
    study: Study,
    by: User,
    level: str = "",
    enactment: str = "",
    note: str = "",
    answers: Mapping[str, str] | None = None,
    edited: bool = False,
    reason: str = "",
    idempotency_key: uuid.UUID | None = None,
) -> Response:
    """Make the suggestion one's own coding, as it is or ``edited``, with the code as the codebook has it now.

    Only after it was shown to her. If she has already applied the code herself, accepting leaves her coding as it is, but for
    what the codebook requires and it lacks; a change of it is an edit, which asks for its reason. A move needs its enactment:
    hers, or else the suggested one, which she saw; where an annotator suggested none, she chooses it (method brief R28). So do
    the suggested answers to the code's own questions, as far as the code still asks them so, where ``answers`` has no other.
    Raises ``Refused``.
    """
    sentence, showing = _require_open(suggestion, by)
    code = _find_present_code(suggestion, study)
    if edited and not reason.strip():
        raise Refused("Give the reason for your changes in one line.", field="reason")
    own = coding = None if edited else _find_own(sentence, code, by)
    if coding is not None and enactment and coding.enactment and enactment != coding.enactment:
        raise Refused(
            f"You have applied {code.name} here yourself, as {coding.enactment}. To change that, accept the suggestion with "
            "changes and give a reason.",
            field="enactment",
        )
    now = timezone.now()
    values = CodingValues(
        level=(level or suggestion.level) if code.family.carries_level else "semantic",
        enactment=(enactment or suggestion.enactment) if code.family.carries_enactment else "",
        note=note,
        attributes=keep_answers(suggestion.answers, code)
        | {key: answer for key, answer in (answers or {}).items() if answer},
    )
    if own is not None and not is_complete(code, own.enactment, own.attributes):
        hers = CodingValues.from_coding(own).adapt_to(code)
        values = hers._replace(
            enactment=hers.enactment or values.enactment, attributes={**values.attributes, **hers.attributes}
        )
        coding = None
    if coding is None:
        coding = add_coding(
            study=study,
            sentence=sentence,
            code=code,
            by=by,
            idempotency_key=idempotency_key or uuid.uuid4(),
            values=values,
            reason=reason.strip() or ACCEPTED_REASON,
        )
    verdict = Response.Verdict.EDITED if edited else Response.Verdict.ACCEPTED
    # An answer that made its coding carries its moment, by which taking it back knows what it made.
    at = max(coding.created_at, now)
    return _respond(suggestion, study, by, sentence, showing, verdict=verdict, coding=coding, reason=reason, at=at)


@transaction.atomic
def reject_suggestion(*, suggestion: Suggestion, study: Study, by: User, reason: str = "") -> Response:
    """Say that the suggestion does not apply. Adds no coding and takes none away. Raises ``Refused``."""
    sentence, showing = _require_open(suggestion, by)
    return _respond(
        suggestion, study, by, sentence, showing, verdict=Response.Verdict.REJECTED, coding=None, reason=reason
    )


@transaction.atomic
def undo_response(*, suggestion: Suggestion, study: Study, by: User) -> Response | None:
    """Take one's answer back, and the coding that it made; ``None`` if there is none.

    What the answer had replaced is restored: her own coding with the same code, or her decision that none applies. It counts
    as assisted, for she has seen the suggestion. After a boundary edit, that is done on the sentence that
    contains the suggestion's words; a coding that was joined with another of hers stays. Everything stays on record. Raises
    ``Refused``.
    """
    sentence, showing = _require_open(suggestion, by)
    current = Response.objects.filter(suggestion=suggestion, coder=by, superseded_at__isnull=True)
    response = current.exclude(verdict=Response.Verdict.UNDONE).select_related("coding__code").first()
    if response is None:
        return None
    coding = _find_made(response, sentence)
    if coding is not None and response.coding is not None:
        _take_back(coding, response.coding, study, by)
    return _respond(suggestion, study, by, sentence, showing, verdict=Response.Verdict.UNDONE, coding=None, reason="")


@transaction.atomic
def redo_response(*, suggestion: Suggestion, study: Study, by: User) -> Response | None:
    """Give again the answer she took back last, the same way; ``None`` if there was none, or another is active since.

    A new row, and a new coding where it makes one. Raises ``Refused``.
    """
    own = Response.objects.filter(suggestion=suggestion, coder=by).select_related("coding")
    if not own.filter(superseded_at__isnull=True, verdict=Response.Verdict.UNDONE).exists():
        return None
    former = own.exclude(verdict=Response.Verdict.UNDONE).order_by("-pk")[0]
    if former.coding is None:
        return reject_suggestion(suggestion=suggestion, study=study, by=by, reason=former.reason)
    is_edit = former.verdict == Response.Verdict.EDITED
    names = ("level", "enactment", "note") if is_edit else ("enactment",)
    values = {name: getattr(former.coding, name) for name in names} | {"answers": former.coding.attributes}
    return accept_suggestion(suggestion=suggestion, study=study, by=by, reason=former.reason, edited=is_edit, **values)


def _require_open(suggestion: Suggestion, by: User) -> tuple[Sentence, Showing]:
    """The sentence that contains the suggestion's words now, and her look at it: the last at that sentence, or, after a boundary
    edit, one from before. Raises ``Refused``, also where she never had one."""
    # As it is now: boundaries may have been edited since it was read.
    suggestion = Suggestion.objects.select_related("sentence__turn__interview").get(pk=suggestion.pk)
    sentence = find_current_sentences([suggestion])[suggestion.pk]
    turn = suggestion.sentence.turn_id
    arms = find_arms([turn])
    showing = (find_showing(sentence, by) if sentence else None) or find_look_at(suggestion, by)
    is_withheld = bool(arms) and arms[turn].arm == TurnArm.Arm.WITHHELD
    if is_withheld or showing is None or suggestion.pk not in showing.suggestions:
        raise Refused("Decide on the sentence yourself first. Then its suggestions are shown.")
    if sentence is None:
        raise Refused(PLACED_NOWHERE)
    closure = read_active_labels(sentence.pk, by.pk).closure
    if closure.sentence:
        raise Refused(closure.sentence)
    return sentence, showing


def _find_present_code(suggestion: Suggestion, study: Study) -> Code:
    code, obstacle = find_present_codes(study, [suggestion])[suggestion.pk]
    if code is None:
        raise Refused(obstacle)
    return code


def _find_own(sentence: Sentence, code: Code, by: User) -> Coding | None:
    """Her own active coding with that code on the sentence."""
    own = Coding.objects.active().filter(sentence=sentence, coder=by)
    return own.filter(code__identifier=code.identifier).order_by("pk").last()


def _find_made(response: Response, sentence: Sentence) -> Coding | None:
    """The coding that the answer made, as it is on ``sentence`` now: boundary edits may have migrated it."""
    made = response.coding
    if made is None or made.created_at != response.created_at:
        return None
    if made.sentence_id == sentence.pk:
        return made if made.withdrawn_at is None else None
    same = Coding.objects.filter(coder=made.coder_id, code__identifier=made.code.identifier, blinding=made.blinding)
    found = same.active().filter(sentence=sentence, created_at=response.created_at).first()
    here = same.filter(
        sentence__turn=sentence.turn_id, sentence__start__lt=sentence.end, sentence__end__gt=sentence.start
    )
    joined = here.filter(
        sentence__retired_by__kind=BoundaryEdit.Kind.MERGE, withdrawn_at__gte=F("sentence__retired_by__edited_at")
    )
    # One that was merged from several of her codings did not come from this answer alone.
    counts = Counter(joined.values_list("sentence__retired_by", flat=True))
    return None if any(count > 1 for count in counts.values()) else found


def _take_back(coding: Coding, made: Coding, study: Study, by: User) -> None:
    """Remove the coding that an answer ``made``, as it is now, and restore what it replaced."""
    replaced = Coding.objects.filter(superseded_by=made)
    former = replaced.select_related("code__family", "code__version", "sentence").first()
    coding = Coding.objects.select_related("sentence__turn__interview").get(pk=coding.pk)
    if former is None:
        ended = Decision.objects.filter(
            sentence=coding.sentence, coder=by, none_applies=True, withdrawn_at__gte=coding.created_at
        ).exists()
        withdraw_coding(study=study, coding=coding, by=by, reason=UNDONE_REASON)
        if ended and not read_active_labels(coding.sentence_id, by.pk).has_sentence_codes:
            decide_sentence(study=study, sentence=coding.sentence, by=by, idempotency_key=uuid.uuid4())
        return
    restore_coding(
        study=study,
        coding=former,
        sentence=coding.sentence,
        by=by,
        idempotency_key=uuid.uuid4(),
        reason=UNDONE_REASON,
    )


def _respond(
    suggestion: Suggestion,
    study: Study,
    by: User,
    sentence: Sentence,
    showing: Showing,
    *,
    verdict: str,
    coding: Coding | None,
    reason: str,
    at: datetime.datetime | None = None,
) -> Response:
    now = timezone.now()
    Response.objects.filter(suggestion=suggestion, coder=by, superseded_at__isnull=True).update(superseded_at=now)
    response = Response.objects.create(
        suggestion=suggestion, coder=by, verdict=verdict, coding=coding, reason=reason.strip(), created_at=at or now
    )
    _close_when_answered(showing, by)
    trail.record(
        f"suggestion.{verdict}",
        target=suggestion,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"coding": coding.pk if coding else None, "sentence": sentence.pk, "showing": showing.pk},
    )
    return response


def _close_when_answered(showing: Showing, by: User) -> None:
    """The look ends with the answer to the last suggestion of it."""
    if showing.closed_at is None:
        current = Response.objects.filter(suggestion__in=showing.suggestions, coder=by, superseded_at__isnull=True)
        if current.exclude(verdict=Response.Verdict.UNDONE).count() == len(showing.suggestions):
            Showing.objects.filter(pk=showing.pk).update(closed_at=timezone.now())
