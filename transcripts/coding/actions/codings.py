"""Putting codes on and taking them off."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.rows import row_changed
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.pure.checking import is_feature
from transcripts.coding import queries
from transcripts.coding.actions import checks
from transcripts.coding.actions.checks import (
    NotYours,
    check_same,
    find_stored,
    find_winner,
    replace_once,
    withdraw,
    withdraw_decision,
)
from transcripts.coding.links import MOVES, carry_links
from transcripts.coding.models import Coding, Layer
from transcripts.coding.queries import ActiveCoding, ActiveLabels
from transcripts.coding.values import PLAIN, CodingValues, collapse_whitespace
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import Extent, share_quote
from transcripts.studies.models import Project


@transaction.atomic
def add_coding(
    *,
    project: Project,
    sentence: Sentence,
    code: Code,
    by: User,
    idempotency_key: UUID,
    values: CodingValues = PLAIN,
    range_id: UUID | None = None,
    reason: str = "",
) -> Coding:
    """Apply ``code`` to ``sentence``, or to the first sentence of its turn or interview. Returns the active row.

    The same code with the same values is left as it is; with other values, or in another codebook version, the new row
    supersedes the old. A "none applies" is withdrawn. Codings of one code applied to several sentences at once share
    ``range_id``. A ``reason`` is required once others' labels were seen. Of families coded once per answer a second coding
    with one code in a turn is refused; one that came there otherwise, by a boundary edit or a merge of codes, may be
    changed. A code is applied to turns that its family is for. Raises ``WrongPlace``, ``WrongInput``, ``OncePerAnswer``,
    ``NotOpen`` or ``UsedForAnother``.
    """
    return _apply(
        project, sentence, code, by, values, idempotency_key=idempotency_key, range_id=range_id, reason=reason
    )


@transaction.atomic
def restore_coding(
    *, project: Project, coding: Coding, sentence: Sentence, by: User, idempotency_key: UUID, reason: str = ""
) -> Coding:
    """Apply the code of an earlier coding of hers where it was, as it was: undo and redo. Returns the active row.

    What the codebook requires now, such as an enactment, may be missing in it: an answer that she never gave cannot be
    made up. ``sentence`` is the one that was coded, or one that boundary edits made of it. Raises ``NotYours`` and what
    ``add_coding`` raises.
    """
    checks.check_restorable(coding, queries.find_place(sentence, coding.code.family.unit), by)
    quote = share_quote(Extent(*coding.quote), Extent(sentence.start, sentence.end)) if coding.quote else None
    return _apply(
        project,
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
    project: Project,
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
    checks.check_place(project, sentence)
    checks.check_code(project, code)
    checks.check_side(code, sentence.turn)
    checks.check_values(code, sentence, values)
    if restored is None:
        checks.check_complete(code, values.enactment, values.attributes)
    sentence = queries.find_place(sentence, code.family.unit)
    is_once = code.family.once_per_answer and code.family.unit == CodeFamily.Unit.SENTENCE
    if is_once:
        # Before the sentence, as boundary edits do: two requests for one answer wait for each other.
        queries.hold_turn(sentence.turn_id)
    if code.identifier.startswith(MOVES) or is_feature(code.identifier, code.family.identifier):
        # Only these have links, which go along with a change.
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
    coding.layer = choose_layer(active)
    coding.reason = reason
    return _store(coding, before=before, active=active, project=project, restored=restored)


@transaction.atomic
def withdraw_coding(*, project: Project, coding: Coding, by: User, reason: str = "") -> None:
    """Withdraw a coding; its row stays. Withdrawing the last one withdraws the decision "nothing more here" too.

    A coding that was withdrawn before is left as it is. Raises ``WrongPlace``, ``WrongInput``, ``NotOpen`` or
    ``NotYours``.
    """
    checks.check_place(project, coding.sentence)
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
        stream=trail.project_stream(project.pk),
        details={
            "sentence": coding.sentence_id,
            "code": coding.code_id,
            "layer": coding.layer,
            "after_suggestions": active.is_revealed,
            "after_colleagues": active.is_opened,
            **({"after_condition": True} if active.is_condition_known else {}),
            **({"reopened": reopened} if reopened else {}),
        },
        rows=rows,
    )


def choose_layer(active: ActiveLabels) -> Layer:
    """What the person could see when she decided."""
    return Layer.ASSISTED if active.has_seen_others else Layer.BLIND


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
    project: Project,
    restored: Coding | None,
) -> Coding:
    """Insert ``coding``; withdraw what it supersedes and a "none applies" it contradicts."""
    before_id = before.pk if before else None
    rows = replace_once(coding, before_id, withdrawn_at=coding.created_at, withdrawal_reason=coding.reason)
    if rows is None:
        return find_winner(coding, sentence=coding.sentence, code=coding.code, coder=coding.coder)
    replaced = before if len(rows) > 1 else None
    source = replaced or restored
    # Only where there was a coding before: a key that applies a code costs no query for links.
    if source is not None:
        rows += carry_links([(source.pk, coding)], at=coding.created_at)
    details: dict[str, object] = {
        "sentence": coding.sentence_id,
        "code": coding.code_id,
        **_list_states(coding),
        "layer": coding.layer,
    }
    if restored is not None:
        details["restores"] = restored.pk
    if replaced is not None:
        details["replaces"] = replaced.pk
        details["before"] = {
            "code": replaced.code_id,
            **replaced.values.list_states(),
            "layer": replaced.layer,
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
        stream=trail.project_stream(project.pk),
        details=details,
        rows=rows,
    )
    return coding


def _list_states(coding: Coding) -> dict[str, object]:
    """The values of a coding, for its audit event: states and whole numbers, never words that somebody typed."""
    states: dict[str, object] = {**CodingValues.from_coding(coding).list_states()}
    if coding.quote_start is not None:
        states["quote"] = [coding.quote_start, coding.quote_end]
    if coding.range_id:
        states["range"] = coding.range_id.hex
    if coding.attributes:
        states["answers"] = sorted(coding.attributes)
    return states
