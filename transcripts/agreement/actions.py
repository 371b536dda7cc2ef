"""Deciding about what coders read differently. Their own codings are never touched."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.agreement import queries
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.letters import Reading, fingerprint, order_readings
from transcripts.agreement.queries import Selection
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.queries import find_stance

Outcome = Adjudication.Outcome
MAX_REASON = 5_000
MAX_RECORDED_REASON = 500


class AgreementError(Exception):
    """A sentence for the person who page_request."""


class WrongStance(AgreementError):
    """The method by which the family is read does not provide for this."""


class NothingToDecide(AgreementError):
    """The coders do not read this sentence differently, or not any more."""


class NotYours(AgreementError):
    """Somebody who read the sentence herself would decide, though another person could."""


class WrongInput(AgreementError):
    """What was typed or chosen does not make a decision; ``field`` says where to put the message."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class ReadingsChanged(AgreementError):
    """The readings are not those that were shown."""


class Overtaken(AgreementError):
    """Somebody else decided first; ``active`` is that decision, to be looked at before one decides again."""

    def __init__(self, message: str, *, active: Adjudication | None) -> None:
        super().__init__(message)
        self.active = active


class UsedForAnother(AgreementError):
    """A client id came back with different content."""


class Verdict(NamedTuple):
    """What somebody decides. ``chosen_coder`` goes with one reading, ``codes`` with none of them."""

    outcome: str
    reason: str
    chosen_coder: int | None = None
    codes: Collection[str] = ()


@transaction.atomic
def adjudicate(
    *,
    project: Project,
    family: CodeFamily,
    sentence: Sentence,
    verdict: Verdict,
    shown: str,
    revision: int,
    client_id: UUID,
    by: User,
) -> Adjudication:
    """Store what holds where blind readings differ; an earlier decision stays, superseded.

    ``shown`` is the fingerprint of the readings on which ``by`` decided, ``revision`` that of the decision she saw (0 for
    none). Raises ``AgreementError`` of one kind or another; ``Overtaken`` carries the decision that was quicker.
    """
    # One decision about a sentence at a time, so that one sent twice at once finds what its twin stored.
    Sentence.objects.select_for_update(no_key=True).get(pk=sentence.pk)
    if (stored := _find_stored(sentence, family, verdict, client_id, by)) is not None:
        return stored
    if find_stance(project, family.identifier) == MethodStance.Stance.REFLEXIVE:
        raise WrongStance(f"{family.name} are read reflexively: differing readings both stand.")
    active = _find_active(sentence, family, revision)
    readings = read_readings(project, family, sentence)
    _check_readings(readings, shown)
    verdict = _check_verdict(family, readings, verdict)
    row = Adjudication(
        project=project,
        sentence=sentence,
        family_identifier=family.identifier,
        readings=[reading.as_stored() for reading in readings],
        outcome=verdict.outcome,
        chosen_coder_id=verdict.chosen_coder,
        codes=list(verdict.codes),
        reason=verdict.reason,
        adjudicator=by,
        client_id=client_id,
        created_at=timezone.now(),
        revision=revision + 1,
    )
    return _store(row, active, is_own=_check_judge(project, readings, by))


def read_readings(project: Project, family: CodeFamily, sentence: Sentence) -> list[Reading]:
    """The blind readings of a family at a sentence as they are now, in the order of A, B, C; empty without any."""
    from transcripts.agreement.reading import read_table

    table = read_table(project, Selection(family), interviews=[sentence.turn.interview_id])
    place = next((place for place, pk in enumerate(table.sentence_ids) if pk == sentence.pk), None)
    return [] if place is None else order_readings(sentence.pk, table.list_readings(place))


@transaction.atomic
def record_computation(*, project: Project, family: CodeFamily, reason: str, by: User) -> None:
    """Keep why a coefficient is computed for a family that is read reflexively. Raises ``WrongInput``."""
    reason = " ".join(reason.split())
    if not reason:
        raise WrongInput("Say why a coefficient is computed although this family is read reflexively.", field="reason")
    _check_reason(reason, longest=MAX_RECORDED_REASON)
    trail.record(
        "agreement.computed",
        target=f"family:{family.identifier}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"stance": find_stance(project, family.identifier), "reason": reason},
    )


@transaction.atomic
def record_download(*, project: Project, family: CodeFamily, sha256: str, rows: int, by: User) -> None:
    """Keep that a table of agreement was taken out."""
    trail.record(
        "agreement.exported",
        target=f"family:{family.identifier}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"rows": rows, "sha256": sha256},
    )


def _find_stored(
    sentence: Sentence, family: CodeFamily, verdict: Verdict, client_id: UUID, by: User
) -> Adjudication | None:
    """The decision that an earlier sending of this request stored. Raises ``UsedForAnother`` when it said otherwise."""
    stored = Adjudication.objects.filter(adjudicator=by, client_id=client_id).first()
    if stored is None:
        return None
    same_place = (stored.sentence_id, stored.family_identifier) == (sentence.pk, family.identifier)
    same_words = (stored.outcome, stored.reason) == (verdict.outcome, _tidy(verdict.reason))
    same_codes = verdict.outcome != Outcome.NEITHER or set(stored.codes) == set(verdict.codes)
    if not (same_place and same_words and same_codes and stored.chosen_coder_id == verdict.chosen_coder):
        raise UsedForAnother(
            "This page has been sent before, with another decision. That one stands; look at it again."
        )
    return stored


def _find_active(sentence: Sentence, family: CodeFamily, revision: int) -> Adjudication | None:
    """What stands. Raises ``Overtaken`` when it is not what the person saw."""
    active = Adjudication.objects.filter(
        sentence=sentence, family_identifier=family.identifier, withdrawn_at__isnull=True
    ).first()
    if (active.revision if active else 0) != revision:
        raise _overtaken(active)
    return active


def _overtaken(active: Adjudication | None) -> Overtaken:
    return Overtaken(
        "Somebody decided about this meanwhile. Both decisions are below; yours is not stored. Send it again to put it "
        "in the place of the other.",
        active=active,
    )


def _check_readings(readings: list[Reading], shown: str) -> None:
    if len({reading.codes for reading in readings}) < 2:
        raise NothingToDecide("The coders do not read this differently any more. There is nothing to decide here.")
    if fingerprint(readings) != shown:
        raise ReadingsChanged("A coder has changed her reading since this page was shown. Look at it again.")


def _check_verdict(family: CodeFamily, readings: list[Reading], verdict: Verdict) -> Verdict:
    """The verdict with the codes that hold by it."""
    reason = _tidy(verdict.reason)
    if verdict.outcome not in Outcome.values:
        raise WrongInput("Choose what holds here.", field="outcome")
    if not reason:
        raise WrongInput("Say why: the reason is what others learn from.", field="reason")
    _check_reason(reason, longest=MAX_REASON)
    if verdict.outcome == Outcome.ONE:
        chosen = next((reading for reading in readings if reading.coder == verdict.chosen_coder), None)
        if chosen is None:
            raise WrongInput("Choose the reading that holds.", field="outcome")
        return Verdict(Outcome.ONE, reason, chosen.coder, chosen.codes)
    if verdict.outcome != Outcome.NEITHER:
        return Verdict(verdict.outcome, reason)
    known = list(family.codes.order_by("position").values_list("identifier", flat=True))
    if unknown := set(verdict.codes) - set(known):
        raise WrongInput(f"There is no code {min(unknown)!r} among {family.name}.", field="codes")
    codes = tuple(code for code in known if code in verdict.codes)
    if any(set(reading.codes) == set(codes) for reading in readings):
        raise WrongInput("Somebody read it just so: choose that reading, or other codes.", field="codes")
    return Verdict(Outcome.NEITHER, reason, None, codes)


def _tidy(reason: str) -> str:
    return reason.replace("\r\n", "\n").strip()


def _check_reason(reason: str, *, longest: int) -> None:
    if len(reason) > longest:
        raise WrongInput(f"This reason has {len(reason):,} characters, and at most {longest:,} fit.", field="reason")
    if "\x00" in reason:
        raise WrongInput("This holds a null character, which no text has. Remove it.", field="reason")


def _check_judge(project: Project, readings: list[Reading], by: User) -> bool:
    """Whether ``by`` decides about a reading of her own, for want of anybody else."""
    coders = [reading.coder for reading in readings]
    if by.pk not in coders:
        return False
    if others := queries.find_other_judges(project, coders):
        names = ", ".join(user.username for user in others)
        raise NotYours(f"You read this sentence yourself. Somebody who did not can decide: {names}.")
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
        if winner is not None and (winner.adjudicator_id, winner.client_id) == (row.adjudicator_id, row.client_id):
            return winner
        raise _overtaken(winner) from None
    if active is not None:
        Adjudication.objects.filter(pk=active.pk).update(superseded_by=row)
    trail.record(
        "adjudication.decided",
        target=row,
        by=row.adjudicator,
        stream=trail.project_stream(row.project_id),
        details={
            "sentence": row.sentence_id,
            "family": row.family_identifier,
            "outcome": row.outcome,
            "revision": row.revision,
            "own_reading": is_own,
            **({"replaces": active.pk} if active else {}),
        },
    )
    return row
