"""Applying codes and removing them, deciding sentences, opening suggestions and reasoning, and memos at the desk."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import row_changed, row_made
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.pure.checking import is_feature
from transcripts.coding import queries
from transcripts.coding.actions import checks
from transcripts.coding.actions.checks import (
    NotDecided,
    NotOpen,
    NotYours,
    WrongPlace,
    check_same,
    choose_blinding,
    find_stored,
    find_winner,
    insert_once,
    replace_once,
    withdraw,
    withdraw_decision,
)
from transcripts.coding.actions.links import MOVES, carry_links
from transcripts.coding.models import Coding, Decision, Memo, Reveal, StageOpening
from transcripts.coding.next_sentence import QUESTION_UNDECIDED, is_question_decided
from transcripts.coding.queries import ActiveCoding, ActiveLabels
from transcripts.coding.values import PLAIN, CodingValues, collapse_whitespace
from transcripts.corpus.consent import NO_CODING
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.pure.boundaries import Extent, share_quote
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import WrongInput
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT, check_text


@transaction.atomic
def add_coding(
    *,
    study: Study,
    sentence: Sentence,
    code: Code,
    by: User,
    idempotency_key: UUID,
    values: CodingValues = PLAIN,
    range_id: UUID | None = None,
    reason: str = "",
) -> Coding:
    """Apply ``code`` to ``sentence``, or to the first sentence of its turn or interview. Returns the active row.

    If the same code with the same values exists, nothing changes; with other values, or in another codebook version, the new
    row supersedes the old. A "none applies" is withdrawn. Codings of one code applied to several sentences at once share
    ``range_id``. A ``reason`` is required once others' labels were seen. In families coded once per answer, a second coding
    with the same code in a turn is refused; one that resulted from a boundary edit or a merge of codes may be changed. A code
    can be applied only to turns that its family is for. Raises ``WrongPlace``, ``WrongInput``, ``OncePerAnswer``, ``NotOpen``
    or ``UsedForAnother``.
    """
    return _apply(study, sentence, code, by, values, idempotency_key=idempotency_key, range_id=range_id, reason=reason)


@transaction.atomic
def restore_coding(
    *, study: Study, coding: Coding, sentence: Sentence, by: User, idempotency_key: UUID, reason: str = ""
) -> Coding:
    """Restore one of her earlier codings as it was and where it was, for undo and redo. Returns the active row.

    Values that the codebook requires now, such as an enactment, may be missing, because an answer that she never gave cannot be
    invented. ``sentence`` is the coded one, or one that boundary edits made from it. Raises ``NotYours`` and what
    ``add_coding`` raises.
    """
    checks.check_restorable(coding, queries.find_place(sentence, coding.code.family.unit), by)
    quote = share_quote(Extent(*coding.quote), sentence.extent) if coding.quote else None
    return _apply(
        study,
        sentence,
        coding.code,
        by,
        CodingValues.from_coding(coding)._replace(quote=quote),
        idempotency_key=idempotency_key,
        range_id=coding.range_id,
        reason=reason,
        restored=coding,
    )


def _apply(
    study: Study,
    sentence: Sentence,
    code: Code,
    by: User,
    values: CodingValues,
    *,
    idempotency_key: UUID,
    range_id: UUID | None,
    reason: str,
    restored: Coding | None = None,
) -> Coding:
    values = values.clean()
    reason = collapse_whitespace(reason)
    checks.check_place(study, sentence)
    checks.check_code(study, code)
    checks.check_side(code, sentence.turn)
    checks.check_values(code, sentence, values)
    if restored is None:
        checks.check_complete(code, values.enactment, values.attributes)
    sentence = queries.find_place(sentence, code.family.unit)
    is_once = code.family.once_per_answer and code.family.unit == CodeFamily.Unit.SENTENCE
    if is_once:
        # Locked before the sentence, as in boundary edits, so that two requests for one answer wait for each other.
        queries.hold_turn(sentence.turn_id)
    if code.identifier.startswith(MOVES) or is_feature(code.identifier, code.family.identifier):
        # Only these have links, which are kept when the coding changes.
        queries.hold_turns_of_links(sentence.pk, by.pk, code.identifier)
    if (stored := find_stored(Coding, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, sentence_id=sentence.pk, code_id=code.pk)
    active = queries.read_active_labels(sentence.pk, by.pk)
    before = next((coding for coding in active.codings if coding.identifier == code.identifier), None)
    if before and before.code_id == code.pk and before.values == values and range_id in {None, before.range_id}:
        return Coding.objects.get(pk=before.pk)
    checks.check_open(active)
    if is_once and before is None:
        checks.check_once_per_answer(code, sentence, by.pk)
    checks.check_reason_of_change(active, reason)
    if range_id:
        interview_id = sentence.turn.interview_id
        checks.check_range(range_id, coder_id=by.pk, interview_id=interview_id, identifier=code.identifier)
    coding = build_coding(sentence, code, by, values, idempotency_key=idempotency_key, range_id=range_id)
    coding.blinding = choose_blinding(active)
    coding.reason = reason
    return _store(coding, before=before, active=active, study=study, restored=restored)


@transaction.atomic
def withdraw_coding(*, study: Study, coding: Coding, by: User, reason: str = "") -> None:
    """Withdraw a coding; its row stays. Withdrawing the last one withdraws the decision "nothing more here" too.

    A coding that has already been withdrawn is left as it is. Raises ``WrongPlace``, ``WrongInput``, ``NotOpen`` or
    ``NotYours``.
    """
    checks.check_place(study, coding.sentence)
    if coding.coder_id != by.pk:
        raise NotYours("This coding belongs to another person. You can remove only your own codings.")
    reason = collapse_whitespace(reason)
    active = queries.read_active_labels(coding.sentence_id, by.pk)
    if all(other.pk != coding.pk for other in active.codings):
        if coding.migrated_to.exists():
            checks.hold_place(coding.sentence)
        return
    checks.hold_place(coding.sentence)
    checks.check_open(active)
    checks.check_reason_of_change(active, reason)
    if not withdraw(coding, reason=reason):
        return
    active.codings = [other for other in active.codings if other.pk != coding.pk]
    rows = [row_changed(Coding, coding.pk, withdrawn_at=coding.withdrawn_at, withdrawal_reason=reason)]
    reopened = None
    if active.decision_id and not active.none_applies and not active.has_sentence_codes:
        withdrawn = withdraw_decision(active.decision_id, reason=reason)
        reopened = active.decision_id if withdrawn else None
        rows += withdrawn
    trail.record(
        "coding.withdrawn",
        target=coding,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "sentence": coding.sentence_id,
            "code": coding.code_id,
            "blinding": coding.blinding,
            "after_suggestions": active.is_revealed,
            "after_colleagues": active.is_opened,
            **({"after_condition": True} if active.is_condition_known else {}),
            **({"reopened": reopened} if reopened else {}),
        },
        rows=rows,
    )


def build_coding(
    sentence: Sentence, code: Code, by: User, values: CodingValues, *, idempotency_key: UUID, range_id: UUID | None
) -> Coding:
    """A blind coding, not yet stored."""
    return Coding(
        sentence=sentence,
        code=code,
        coder=by,
        **values.to_columns(),
        range_id=range_id,
        idempotency_key=idempotency_key,
        created_at=timezone.now(),
    )


def _store(
    coding: Coding,
    *,
    before: ActiveCoding | None,
    active: ActiveLabels,
    study: Study,
    restored: Coding | None,
) -> Coding:
    """Insert ``coding``; withdraw what it supersedes and a "none applies" it contradicts."""
    before_id = before.pk if before else None
    rows = replace_once(coding, before_id, withdrawn_at=coding.created_at, withdrawal_reason=coding.reason)
    if rows is None:
        return find_winner(coding, sentence=coding.sentence, code=coding.code, coder=coding.coder)
    replaced = before if len(rows) > 1 else None
    source = replaced or restored
    # Only if there was a coding before, so that a key that applies a code costs no query for links.
    if source is not None:
        rows += carry_links([(source.pk, coding)], at=coding.created_at)
    details: dict[str, object] = {
        "sentence": coding.sentence_id,
        "code": coding.code_id,
        **_list_states(coding),
        "blinding": coding.blinding,
    }
    if restored is not None:
        details["restores"] = restored.pk
    if replaced is not None:
        details["replaces"] = replaced.pk
        details["before"] = {
            "code": replaced.code_id,
            **replaced.values.list_states(),
            "blinding": replaced.blinding,
        }
    if active.decision_id and active.none_applies and coding.code.family.unit == CodeFamily.Unit.SENTENCE:
        withdrawn = withdraw_decision(active.decision_id, reason=coding.reason)
        if withdrawn:
            details["reopened"] = active.decision_id
            rows += withdrawn
    trail.record(
        "coding.changed" if replaced else "coding.added",
        target=coding,
        by=coding.coder,
        stream=trail.study_stream(study.pk),
        details=details,
        rows=rows,
    )
    return coding


def _list_states(coding: Coding) -> dict[str, object]:
    """The values of a coding for its audit event: states and whole numbers, never typed words."""
    states: dict[str, object] = {**CodingValues.from_coding(coding).list_states()}
    if coding.quote_start is not None:
        states["quote"] = [coding.quote_start, coding.quote_end]
    if coding.range_id:
        states["range"] = coding.range_id.hex
    if coding.attributes:
        states["answers"] = sorted(coding.attributes)
    return states


@transaction.atomic
def decide_sentence(*, study: Study, sentence: Sentence, by: User, idempotency_key: UUID) -> Decision:
    """Store that ``by`` has read the sentence and has nothing more to code here; if it has no code, none applies.

    An active decision is left as it is. Raises ``WrongPlace``, ``NotOpen`` or ``UsedForAnother``.
    """
    checks.check_place(study, sentence)
    if (stored := find_stored(Decision, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, sentence_id=sentence.pk)
    active = queries.read_active_labels(sentence.pk, by.pk)
    if active.decision_id:
        return Decision.objects.get(pk=active.decision_id)
    checks.check_open(active)
    decision = Decision(
        sentence=sentence,
        coder=by,
        blinding=choose_blinding(active),
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
        stream=trail.study_stream(study.pk),
        details={"sentence": sentence.pk, "none_applies": decision.none_applies, "blinding": decision.blinding},
        rows=[row_made(decision)],
    )
    return decision


@transaction.atomic
def reopen_sentence(*, study: Study, decision: Decision, by: User, reason: str = "") -> None:
    """Withdraw "nothing more here". Codings stay. Raises ``WrongPlace``, ``WrongInput``, ``NotOpen`` or ``NotYours``."""
    checks.check_place(study, decision.sentence)
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
        stream=trail.study_stream(study.pk),
        details={
            "sentence": decision.sentence_id,
            "none_applies": decision.none_applies,
            "blinding": decision.blinding,
        },
        rows=[row_changed(Decision, decision.pk, withdrawn_at=decision.withdrawn_at, withdrawal_reason=reason)],
    )


@transaction.atomic
def reveal_suggestions(*, study: Study, sentence: Sentence, by: User) -> Reveal:
    """Store when ``by`` first sees the machines' suggestions for a sentence; what she codes there later is "assisted".

    ``coding/next_sentence.py`` defines when a turn of the interviewer is decided. Raises ``NotDecided`` before her own
    decision. Suggestions stay revealed, even if she withdraws the decision later. Reads sentence.turn.interview.study.
    """
    checks.check_place(study, sentence)
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
            stream=trail.study_stream(study.pk),
            details={"sentence": sentence.pk, "decision": active.decision_id},
        )
    return reveal


@transaction.atomic
def open_stage(*, study: Study, turn: Turn, by: User) -> StageOpening:
    """Store when ``by`` first opened the reasoning in ``turn``; only the first opening counts.

    Raises ``WrongPlace`` if the turn is in another study or is not reasoning.
    """
    if turn.interview.study_id != study.pk:
        raise WrongPlace("This turn is not in this study.")
    if turn.channel != Turn.Channel.REASONING:
        raise WrongPlace("Only a model's reasoning is closed. This turn can be read as it is.")
    opening, is_new = StageOpening.objects.get_or_create(turn=turn, coder=by, defaults={"opened_at": timezone.now()})
    if is_new:
        trail.record(
            "coding.reasoning.opened",
            target=opening,
            by=by,
            stream=trail.study_stream(study.pk),
            details={"interview": turn.interview_id, "turn": turn.position},
        )
    return opening


@transaction.atomic
def write_memo(
    *,
    study: Study,
    interview: Interview,
    sentence: Sentence | None,
    text: str,
    by: User,
    idempotency_key: UUID,
    kind: str = "",
) -> Memo:
    """Write the one memo of ``by`` on a sentence or interview; an empty text withdraws it.

    The earlier text stays as a superseded row; without a ``kind`` the memo keeps its kind. Memos can be written even if coding
    is closed, unless consent to coding is refused: then a memo can only be withdrawn. Raises ``WrongPlace``, ``WrongInput``,
    ``NotOpen`` or ``UsedForAnother``.
    """
    text = check_text(text, field="text", max_length=MAX_TEXT)
    if kind and kind not in Memo.Kind.values:
        raise WrongInput(f"There is no kind of memo {kind!r}: choose {', '.join(Memo.Kind.values)}.", field="kind")
    if interview.study_id != study.pk or (sentence and sentence.turn.interview_id != interview.pk):
        raise WrongPlace("This memo belongs to a sentence or interview that is not part of this study.")
    if (stored := find_stored(Memo, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, interview_id=interview.pk, sentence_id=sentence.pk if sentence else None)
    subject = Memo.Subject.SENTENCE if sentence else Memo.Subject.INTERVIEW
    kept = Memo.objects.active().filter(subject=subject, interview=interview, sentence=sentence, author=by)
    # Held until it is superseded.
    before = kept.select_for_update().first()
    kind = kind or (before.kind if before else Memo.Kind.READING)
    if before is not None and (before.text, before.kind) == (text, kind):
        return before
    if text and not list_consenting([interview.pk], Consent.Scope.CODING):
        raise NotOpen(NO_CODING)
    now = timezone.now()
    memo = Memo(
        study=study,
        kind=kind,
        subject=subject,
        interview=interview,
        sentence=sentence,
        author=by,
        text=text,
        revision=before.revision + 1 if before else 1,
        idempotency_key=idempotency_key,
        created_at=now,
        withdrawn_at=None if text else now,
    )
    return _store_memo(memo, before=before)


def _store_memo(memo: Memo, *, before: Memo | None) -> Memo:
    """Insert ``memo``, which replaces the one it supersedes."""
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
