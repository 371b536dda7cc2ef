"""A person's own word on a sentence, what may be shown to her after it, reasoning that she opens, her memos at the desk, and
her keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    NotOpen,
    NotYours,
    WrongPlace,
    check_same,
    find_stored,
    find_winner,
    insert_once,
    replace_once,
    withdraw,
)
from transcripts.coding.actions.codings import choose_layer
from transcripts.coding.keys import OFF, Choices, CodeKey, read_choices
from transcripts.coding.models import Decision, DeskSettings, Memo, Reveal, StageOpening
from transcripts.coding.next_sentence import QUESTION_UNDECIDED, is_question_decided
from transcripts.coding.values import collapse_whitespace
from transcripts.corpus.consent import NO_CODING
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.queries import list_consenting
from transcripts.projects.models import Project
from transcripts.refusals import WrongInput
from transcripts.ui.typed_text import MAX_TEXT, check_text


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
def write_memo(
    *,
    project: Project,
    interview: Interview,
    sentence: Sentence | None,
    text: str,
    by: User,
    idempotency_key: UUID,
    kind: str = "",
) -> Memo:
    """Write the one memo ``by`` keeps on a sentence, or on the interview; an empty text withdraws it.

    The earlier text stays as a superseded row; without a ``kind`` the memo keeps the one it had. Open also where coding
    is closed, unless the interview's consent says so: then a memo can only be withdrawn. Raises ``WrongPlace``,
    ``WrongInput``, ``NotOpen`` or ``UsedForAnother``.
    """
    text = check_text(text, field="text", max_length=MAX_TEXT)
    if kind and kind not in Memo.Kind.values:
        raise WrongInput(f"There is no kind of memo {kind!r}: choose {', '.join(Memo.Kind.values)}.", field="kind")
    if interview.project_id != project.pk or (sentence and sentence.turn.interview_id != interview.pk):
        raise WrongPlace("This memo belongs to a sentence or interview that is not part of this study.")
    if (stored := find_stored(Memo, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, interview_id=interview.pk, sentence_id=sentence.pk if sentence else None)
    before = _lock_active(interview, sentence, by)
    kind = kind or (before.kind if before else Memo.Kind.READING)
    if before is not None and (before.text, before.kind) == (text, kind):
        return before
    if text and not list_consenting([interview.pk], Consent.Scope.CODING):
        raise NotOpen(NO_CODING)
    now = timezone.now()
    memo = Memo(
        project=project,
        kind=kind,
        subject=_name_subject(sentence),
        interview=interview,
        sentence=sentence,
        author=by,
        text=text,
        revision=before.revision + 1 if before else 1,
        idempotency_key=idempotency_key,
        created_at=now,
        withdrawn_at=None if text else now,
    )
    return _store(memo, before=before)


def _name_subject(sentence: Sentence | None) -> Memo.Subject:
    return Memo.Subject.SENTENCE if sentence else Memo.Subject.INTERVIEW


def _lock_active(interview: Interview, sentence: Sentence | None, by: User) -> Memo | None:
    """The memo that she keeps there now, held until it is superseded."""
    kept = Memo.objects.filter(subject=_name_subject(sentence), interview=interview, sentence=sentence, author=by)
    return kept.select_for_update().filter(withdrawn_at__isnull=True).first()


def _store(memo: Memo, *, before: Memo | None) -> Memo:
    """Insert ``memo`` in the place of the one it supersedes."""
    ended = max(memo.created_at, before.created_at) if before else None
    rows = replace_once(memo, before.pk if before else None, withdrawn_at=ended)
    if rows is None:
        return find_winner(memo, interview=memo.interview, sentence=memo.sentence, author=memo.author)
    trail.record(
        "coding.memo.written",
        target=memo,
        by=memo.author,
        details={
            "interview": memo.interview_id,
            "sentence": memo.sentence_id,
            "kind": memo.kind,
            "characters": len(memo.text),
            **({"replaces": before.pk} if before else {}),
        },
        rows=rows,
    )
    return memo


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


@transaction.atomic
def set_keys(*, given: Mapping[str, str], codes: Iterable[CodeKey], by: User) -> DeskSettings:
    """Give acts and codes other keys, or none; see ``keys.read_choices``. Raises ``KeysRefused``."""
    stored = DeskSettings.objects.select_for_update().filter(user=by).first()
    return _store_keys(read_choices(given, codes, stored.keys if stored else {}), by)


@transaction.atomic
def reset_keys(*, by: User) -> DeskSettings:
    """Give every act and every code, of every study, the key it comes with."""
    return _store_keys({}, by)


def _store_keys(choices: Choices, by: User) -> DeskSettings:
    before = DeskSettings.objects.filter(user=by).first()
    if before is not None and before.keys == choices:
        return before
    settings, _ = DeskSettings.objects.update_or_create(
        user=by, defaults={"keys": choices, "changed_at": timezone.now()}
    )
    keys = [key for chosen in choices.values() for key in chosen.values()]
    trail.record("coding.keys.set", target=settings, by=by, details={"chosen": len(keys), "off": keys.count(OFF)})
    return settings
