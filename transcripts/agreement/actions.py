"""Adjudicating disagreements. Coders' own codings are never changed."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.agreement import queries
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import Readings, fingerprint, list_stored, order_readings
from transcripts.agreement.queries import Selection
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import row_changed, row_made
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.consent import explain_missing, list_without
from transcripts.corpus.models import Consent, Sentence
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import find_method
from transcripts.ui.typed_text import MAX_NOTE, check_reason, check_text

Outcome = Adjudication.Outcome


class ReadingsChanged(Refused):
    """The readings are no longer those that were shown."""


class Overtaken(Refused):
    """Somebody else decided first; ``active`` is that decision, which the person should read before she decides again."""

    def __init__(self, message: str, *, active: Adjudication | None) -> None:
        super().__init__(message)
        self.active = active


class UsedForAnother(Refused):
    """An idempotency key was used again with different content."""


@transaction.atomic
def adjudicate(
    *,
    study: Study,
    family: CodeFamily,
    sentence: Sentence,
    outcome: str,
    reason: str,
    chosen_coder: int | None = None,
    codes: Collection[str] = (),
    shown: str,
    revision: int,
    idempotency_key: UUID,
    by: User,
) -> Adjudication:
    """Store a decision on differing blind readings; an earlier decision is kept as superseded.

    ``chosen_coder`` goes with the outcome that one reading is upheld, ``codes`` with the outcome that none of them does.
    ``shown`` is the fingerprint of the readings on which ``by`` decided, ``revision`` that of the decision she saw (0 for
    none). Raises ``Refused`` or a subclass; ``Overtaken`` has the decision that was faster.
    """
    # One decision about a sentence at a time, so that a request sent twice at once finds what the other stored.
    Sentence.objects.select_for_update(no_key=True).get(pk=sentence.pk)
    row = Adjudication(
        study=study,
        sentence=sentence,
        family_identifier=family.identifier,
        outcome=outcome,
        chosen_coder_id=chosen_coder,
        codes=list(codes),
        reason=reason.replace("\r\n", "\n").strip(),
        adjudicator=by,
        idempotency_key=idempotency_key,
        created_at=timezone.now(),
        revision=revision + 1,
    )
    if (stored := _find_stored(row)) is not None:
        return stored
    if find_method(study, family.identifier) == MethodChoice.Method.REFLEXIVE:
        raise Refused(
            f"{family.name} are coded by reflexive thematic analysis, in which differing readings are both kept."
        )
    if list_without([sentence.turn.interview], Consent.Scope.CODING):
        raise Refused(explain_missing([sentence.turn.interview], Consent.Scope.CODING))
    active = _find_active(sentence, family, revision)
    readings = read_readings(study, family, sentence)
    _check_readings(readings, shown)
    _check_verdict(family, readings, row)
    row.readings = list_stored(readings)
    return _store(row, active, is_own=_check_judge(study, readings, by))


def read_readings(study: Study, family: CodeFamily, sentence: Sentence) -> Readings:
    """The present blind readings of a family at a sentence, in the order of A, B, C."""
    from transcripts.agreement.label_tables import read_table

    table = read_table(study, Selection(family), interviews=[sentence.turn.interview_id])
    place = next((place for place, pk in enumerate(table.sentence_ids) if pk == sentence.pk), None)
    return {} if place is None else order_readings(sentence.pk, table.list_readings(place))


@transaction.atomic
def record_computation(*, study: Study, family: CodeFamily, reason: str, by: User) -> None:
    """Record why a coefficient is computed for a family that uses reflexive thematic analysis. Raises ``WrongInput``."""
    needed = "Give a reason for computing a coefficient although this family uses reflexive thematic analysis."
    reason = check_reason(reason, needed=needed, one_line=True)
    trail.record(
        "agreement.computed",
        target=f"family:{family.identifier}",
        by=by,
        stream=trail.study_stream(study.pk),
        details={"method": find_method(study, family.identifier), "reason": reason},
    )


def _find_stored(row: Adjudication) -> Adjudication | None:
    """The decision that this request stored earlier. Raises ``UsedForAnother`` if that one was different."""
    stored = Adjudication.objects.filter(adjudicator=row.adjudicator, idempotency_key=row.idempotency_key).first()
    if stored is None:
        return None
    fields = ("sentence_id", "family_identifier", "outcome", "reason", "chosen_coder_id")
    is_same = all(getattr(stored, field) == getattr(row, field) for field in fields)
    if not is_same or (row.outcome == Outcome.NEITHER and set(stored.codes) != set(row.codes)):
        raise UsedForAnother("This page was already sent with another decision, which counts. Reload the page.")
    return stored


def _find_active(sentence: Sentence, family: CodeFamily, revision: int) -> Adjudication | None:
    """The active decision. Raises ``Overtaken`` if it is not the one that the person saw."""
    active = Adjudication.objects.filter(
        sentence=sentence, family_identifier=family.identifier, withdrawn_at__isnull=True
    ).first()
    if (active.revision if active else 0) != revision:
        raise _overtaken(active)
    return active


def _overtaken(active: Adjudication | None) -> Overtaken:
    return Overtaken(
        "Another person has just decided this. Both decisions are below. Yours is not stored. Send it again to replace the other "
        "one.",
        active=active,
    )


def _check_readings(readings: Readings, shown: str) -> None:
    if len(set(readings.values())) < 2:
        raise Refused("The coders no longer disagree about this. There is nothing to decide here.")
    if fingerprint(readings) != shown:
        raise ReadingsChanged("A coder has changed her reading since this page was shown. Reload the page.")


def _check_verdict(family: CodeFamily, readings: Readings, row: Adjudication) -> None:
    """Check the decision and set its resulting codes."""
    if row.outcome not in Outcome.values:
        raise WrongInput("Choose a decision.", field="outcome")
    row.reason = check_text(
        row.reason, field="reason", max_length=MAX_NOTE, needed="Give a reason. Others learn from it."
    )
    if row.outcome == Outcome.ONE:
        if row.chosen_coder_id not in readings:
            raise WrongInput("Choose the reading to uphold.", field="outcome")
        row.codes = list(readings[row.chosen_coder_id])
        return
    row.chosen_coder_id = None
    if row.outcome != Outcome.NEITHER:
        row.codes = []
        return
    known = list(family.codes.order_by("position").values_list("identifier", flat=True))
    if unknown := set(row.codes) - set(known):
        raise WrongInput(f"There is no code {min(unknown)!r} among {family.name}.", field="codes")
    row.codes = [code for code in known if code in row.codes]
    if any(set(codes) == set(row.codes) for codes in readings.values()):
        raise WrongInput("One coder applied exactly these codes. Choose that reading, or other codes.", field="codes")


def _check_judge(study: Study, readings: Readings, by: User) -> bool:
    """Whether ``by`` decides about her own reading because nobody else can. Refuses it if somebody else can."""
    if by.pk not in readings:
        return False
    if others := queries.find_other_judges(study, list(readings)):
        names = ", ".join(user.username for user in others)
        raise Refused(f"You coded this sentence yourself. People who did not code it can decide: {names}.")
    return True


def _store(row: Adjudication, active: Adjudication | None, *, is_own: bool) -> Adjudication:
    try:
        with transaction.atomic():
            if active is not None:
                Adjudication.objects.filter(pk=active.pk).update(withdrawn_at=row.created_at)
            row.save(force_insert=True)
    except IntegrityError:
        winner = Adjudication.objects.filter(
            sentence=row.sentence, family_identifier=row.family_identifier, withdrawn_at__isnull=True
        ).first()
        if winner is not None and (winner.adjudicator_id, winner.idempotency_key) == (
            row.adjudicator_id,
            row.idempotency_key,
        ):
            return winner
        raise _overtaken(winner) from None
    rows = [row_made(row)]
    if active is not None:
        Adjudication.objects.filter(pk=active.pk).update(superseded_by=row)
        rows.append(row_changed(Adjudication, active.pk, withdrawn_at=row.created_at, superseded_by=row.pk))
    trail.record(
        "adjudication.decided",
        target=row,
        by=row.adjudicator,
        details={
            "sentence": row.sentence_id,
            "family": row.family_identifier,
            "outcome": row.outcome,
            "revision": row.revision,
            "own_reading": is_own,
            **({"replaces": active.pk} if active else {}),
        },
        rows=rows,
    )
    return row
