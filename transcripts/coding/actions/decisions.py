"""A person's own word on a sentence, what may be shown to her after it, and reasoning that she opens."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.rows import row_changed, row_made
from transcripts.coding import queries
from transcripts.coding.actions import checks
from transcripts.coding.actions.checks import (
    NotDecided,
    NotYours,
    WrongPlace,
    check_same,
    find_stored,
    find_winner,
    insert_once,
    withdraw,
)
from transcripts.coding.actions.codings import choose_layer
from transcripts.coding.models import Decision, Reveal, StageOpening
from transcripts.coding.next_sentence import QUESTION_UNDECIDED, is_question_decided
from transcripts.coding.values import collapse_whitespace
from transcripts.corpus.models import Sentence, Turn
from transcripts.studies.models import Project


@transaction.atomic
def decide_sentence(*, project: Project, sentence: Sentence, by: User, idempotency_key: UUID) -> Decision:
    """Store that ``by`` has read the sentence and has nothing more to code here: none applies if it has no code.

    An active decision is left as it is. Raises ``WrongPlace``, ``NotOpen`` or ``UsedForAnother``.
    """
    checks.check_place(project, sentence)
    if (stored := find_stored(Decision, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, sentence_id=sentence.pk)
    active = queries.read_active_labels(sentence.pk, by.pk)
    if active.decision_id:
        return Decision.objects.get(pk=active.decision_id)
    checks.check_open(active)
    decision = Decision(
        sentence=sentence,
        coder=by,
        layer=choose_layer(active),
        none_applies=not active.has_sentence_codes,
        idempotency_key=idempotency_key,
        created_at=timezone.now(),
    )
    if not insert_once(decision):
        return find_winner(decision, sentence=sentence, coder=by)
    trail.record(
        "coding.decided",
        target=decision,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"sentence": sentence.pk, "none_applies": decision.none_applies, "layer": decision.layer},
        rows=[row_made(decision)],
    )
    return decision


@transaction.atomic
def reopen_sentence(*, project: Project, decision: Decision, by: User, reason: str = "") -> None:
    """Take back "nothing more here". Codings stay. Raises ``WrongPlace``, ``WrongInput``, ``NotOpen`` or ``NotYours``."""
    checks.check_place(project, decision.sentence)
    if decision.coder_id != by.pk:
        raise NotYours("This decision belongs to another person. You can take back only your own decisions.")
    reason = collapse_whitespace(reason)
    checks.hold_place(decision.sentence)
    active = queries.read_active_labels(decision.sentence_id, by.pk)
    if active.decision_id != decision.pk:
        return
    checks.check_open(active)
    checks.check_reason_of_change(active, reason)
    if not withdraw(decision, reason=reason):
        return
    trail.record(
        "coding.reopened",
        target=decision,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"sentence": decision.sentence_id, "none_applies": decision.none_applies, "layer": decision.layer},
        rows=[row_changed(Decision, decision.pk, withdrawn_at=decision.withdrawn_at, withdrawal_reason=reason)],
    )


@transaction.atomic
def reveal_suggestions(*, project: Project, sentence: Sentence, by: User) -> Reveal:
    """Store when ``by`` first sees the machines' suggestions for a sentence; what she codes there later is "assisted".

    A turn of the interviewer is decided as ``coding/next_sentence.py`` says. Raises ``NotDecided`` before her own decision. Once
    seen stays seen: a decision taken back later changes nothing. Reads sentence.turn.interview.project.
    """
    checks.check_place(project, sentence)
    active = queries.read_active_labels(sentence.pk, by.pk)
    if active.is_revealed:
        return Reveal.objects.get(sentence=sentence, coder=by)
    checks.hold_place(sentence)
    if not active.decision_id:
        if sentence.turn.role != Turn.Role.INTERVIEWER:
            raise NotDecided("Decide on this sentence first (Enter at the desk). Then you can open its suggestions.")
        if not is_question_decided(sentence.turn, by.pk):
            raise NotDecided(QUESTION_UNDECIDED)
    reveal, created = Reveal.objects.get_or_create(
        sentence=sentence, coder=by, defaults={"revealed_at": timezone.now()}
    )
    if created:
        trail.record(
            "coding.suggestions.revealed",
            target=reveal,
            by=by,
            stream=trail.project_stream(project.pk),
            details={"sentence": sentence.pk, "decision": active.decision_id},
        )
    return reveal


@transaction.atomic
def open_stage(*, project: Project, turn: Turn, by: User) -> StageOpening:
    """Store when ``by`` first opened the reasoning in ``turn``; the first opening stays the one that counts.

    Raises ``WrongPlace`` if the turn is of another study or is no reasoning.
    """
    if turn.interview.project_id != project.pk:
        raise WrongPlace("This turn is not in this study.")
    if turn.channel != Turn.Channel.REASONING:
        raise WrongPlace("Only a model's reasoning is closed. This turn can be read as it is.")
    opening, is_new = StageOpening.objects.get_or_create(turn=turn, coder=by, defaults={"opened_at": timezone.now()})
    if is_new:
        trail.record(
            "coding.reasoning.opened",
            target=opening,
            by=by,
            stream=trail.project_stream(project.pk),
            details={"interview": turn.interview_id, "turn": turn.position},
        )
    return opening
