"""Assigning interviews, completing them, and locking a round."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Max, OuterRef
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import row_changed, row_made
from transcripts.corpus.consent import explain_missing, list_without
from transcripts.corpus.models import Consent, Interview
from transcripts.corpus.queries import list_consenting
from transcripts.hooks import round_completed, send
from transcripts.refusals import Refused
from transcripts.rounds import queries
from transcripts.rounds.models import Assignment, Completion, Round
from transcripts.rounds.pure import CannotAllocate, allocate_items, draw_items, fingerprint
from transcripts.rounds.queries import Progress, closes_the_rest, find_dealt_out, read_progress
from transcripts.studies.models import Membership, Study
from transcripts.ui.typed_text import MAX_SEED, MAX_TEXT, check_reason, check_text

MAX_NAME_LENGTH = 200


class PlanChanged(Refused):
    """The interviews or coders have changed since the plan was shown."""


class StillUndecided(Refused):
    """The interview has undecided sentences and no reason was given for completing it."""


def plan_round(
    *,
    study: Study,
    planned: Round,
    coder_ids: Collection[int],
    models: Collection[str],
    interview_ids: Collection[int] = (),
    drawn: int | None = None,
) -> tuple[list[User], dict[int, tuple[int, ...]]]:
    """Plan a round: returns the coders, and which of them would code each interview; nothing is stored. Raises ``Refused``.

    ``planned`` is the unsaved round as the lead described it. Without ``models`` or ``interview_ids`` all interviews are used;
    of these, ``drawn`` are chosen at random by the seed, or all. Interviews whose consent says that people may not code them
    are left out, or refused by title if they were chosen individually. ``fingerprint`` of the second result identifies the
    plan, so that the confirmed plan is the one that was shown.
    """
    _check_words(study, planned)
    if not 0 <= planned.overlap_percent <= 100:
        raise Refused(
            f"The overlap is a share of the interviews, from 0 to 100 per cent, not {planned.overlap_percent}.",
            field="overlap_percent",
        )
    if not 0 <= planned.seed <= MAX_SEED:
        raise Refused(f"The seed is a whole number from 0 to {MAX_SEED:,}.", field="seed")
    coders = [user for user in queries.list_coders(study) if user.pk in set(coder_ids)]
    if len(coders) != len(set(coder_ids)):
        raise Refused(
            "One of the chosen people is not a member of this study, or may not code in it. First give this person the role of a "
            "coder, or choose another person.",
            field="coders",
        )
    chosen = study.interviews.filter(pk__in=interview_ids).order_by("pk")
    if refused := list_without(chosen, Consent.Scope.CODING):
        missing = explain_missing(refused, Consent.Scope.CODING)
        raise Refused(f"{missing} Or untick the interviews that cannot be coded.", field="interviews")
    label_of = queries.read_labels(study, models, only=interview_ids)
    allowed = list_consenting(label_of, Consent.Scope.CODING)
    label_of = {pk: label for pk, label in label_of.items() if pk in allowed}
    if len(interview_ids) and not label_of:
        raise Refused("None of the ticked interviews was held with one of the chosen models.", field="interviews")
    if drawn is not None:
        label_of = draw_items(label_of, drawn, seed=planned.seed)
    try:
        allocation = allocate_items(
            label_of,
            [user.pk for user in coders],
            overlap_percent=planned.overlap_percent,
            readers=planned.overlap_readers,
            seed=planned.seed,
        )
    except CannotAllocate as error:
        raise Refused(str(error)) from error
    return coders, allocation


def _check_words(study: Study, planned: Round) -> None:
    name = check_text(planned.name, field="name", max_length=MAX_NAME_LENGTH, needed="A round needs a name.")
    if study.rounds.filter(name__iexact=name).exists():
        raise Refused(f"There is already a round named {name}. Choose another name.", field="name")
    planned.instructions = check_text(planned.instructions, field="instructions", max_length=MAX_TEXT)


@transaction.atomic
def open_round(
    *,
    study: Study,
    planned: Round,
    coder_ids: Collection[int],
    models: Collection[str],
    plan_name: str,
    idempotency_key: UUID,
    by: User,
    interview_ids: Collection[int] = (),
    drawn: int | None = None,
) -> Round:
    """Store the planned round with the assignments of the plan that was shown as ``plan_name``.

    If anybody has already confirmed this plan, returns its round. Raises ``Refused`` or ``PlanChanged``.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    if (stored := study.rounds.filter(idempotency_key=idempotency_key).first()) is not None:
        return _check_same_plan(stored, planned)
    coders, allocation = plan_round(
        study=study,
        planned=planned,
        coder_ids=coder_ids,
        models=models,
        interview_ids=interview_ids,
        drawn=drawn,
    )
    if fingerprint(allocation) != plan_name:
        raise PlanChanged("The interviews or coders have changed since this plan was shown. Here is the new plan.")
    number = (study.rounds.aggregate(last=Max("number"))["last"] or 0) + 1
    planned.study, planned.number, planned.idempotency_key = study, number, idempotency_key
    planned.name, planned.instructions = planned.name.strip(), planned.instructions.strip()
    planned.opened_at, planned.opened_by_name = timezone.now(), by.get_username()
    planned.save(force_insert=True)
    assigned = [(interview_id, coder_id) for interview_id, readers in allocation.items() for coder_id in readers]
    Assignment.objects.bulk_create(
        (
            Assignment(
                round=planned,
                interview_id=interview_id,
                coder_id=coder_id,
                assigned_at=planned.opened_at,
                assigned_by_name=by.get_username(),
            )
            for interview_id, coder_id in assigned
        ),
        batch_size=500,
    )
    details = {"number": number, "interviews": len(allocation), "assignments": len(assigned), "seed": planned.seed}
    overlap = {"overlap_percent": planned.overlap_percent, "overlap_readers": planned.overlap_readers}
    details |= {"closes_others": planned.closes_others, **({"drawn": drawn} if drawn is not None else {})}
    _record("round.opened", planned, by, {**details, **overlap, "coders": sorted(user.pk for user in coders)})
    return planned


def _check_same_plan(stored: Round, planned: Round) -> Round:
    """The stored round of a plan. Raises ``PlanChanged`` if the same key was used for another plan."""
    asked = (planned.name.strip(), planned.seed, planned.overlap_percent)
    if (stored.name, stored.seed, stored.overlap_percent) != asked:
        raise PlanChanged(
            f"This plan has already become round {stored.number}. Below is the changed plan; confirm it to open another round."
        )
    return stored


@transaction.atomic
def assign(*, round_: Round, interview: Interview, coder: User, by: User) -> Assignment:
    """Assign an interview to ``coder``. An existing assignment is left as it is. Raises ``Refused``."""
    _hold_open(round_)
    if interview.study_id != round_.study_id:
        raise Refused("This interview is not part of this study.")
    membership = Membership.objects.filter(study=round_.study_id, user=coder).first()
    if membership is None or membership.role not in queries.CODING_ROLES:
        raise Refused(f"{coder.username} may not code in this study, so nothing can be assigned to this person.")
    if list_without([interview], Consent.Scope.CODING):
        raise Refused(explain_missing([interview], Consent.Scope.CODING))
    active = round_.assignments.filter(interview=interview, coder=coder, withdrawn_at__isnull=True)
    if (stored := active.first()) is not None:
        return stored
    row = Assignment(
        round=round_,
        interview=interview,
        coder=coder,
        assigned_at=timezone.now(),
        assigned_by_name=by.get_username(),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return active.get()
    _record("round.assigned", round_, by, {"interview": interview.pk, "coder": coder.pk}, row)
    return row


@transaction.atomic
def unassign(*, assignment: Assignment, by: User) -> None:
    """Withdraw an assignment; the coder's codings stay. Raises ``Refused`` if she has completed it."""
    _hold_open(assignment.round)
    assignment.refresh_from_db(fields=["completed_at", "withdrawn_at"])
    if assignment.withdrawn_at:
        return
    if assignment.completed_at:
        raise Refused(f"{assignment.coder.username} has completed “{assignment.interview.title}”. Return it first.")
    assignment.withdrawn_at = timezone.now()
    assignment.save(update_fields=["withdrawn_at"])
    details: dict[str, object] = {"interview": assignment.interview_id, "coder": assignment.coder_id}
    _record("round.unassigned", assignment.round, by, details, assignment)
    announce_if_completed(assignment.round)


@transaction.atomic
def complete_assignment(*, assignment: Assignment, reason: str = "", by: User) -> None:
    """Store that ``by`` has completed an interview; it can no longer be coded under this assignment.

    Raises ``StillUndecided`` if sentences of the model are undecided and no reason is given, and ``Refused`` for another
    person's assignment or a locked round.
    """
    _hold_open(assignment.round)
    if assignment.coder_id != by.pk:
        raise Refused("This interview is assigned to another person. You can complete only your own codings.")
    assignment.refresh_from_db(fields=["completed_at", "withdrawn_at"])
    if assignment.withdrawn_at:
        raise Refused("This interview is no longer assigned to you.")
    if assignment.completed_at:
        return
    progress = read_progress([assignment.interview_id], coder_id=by.pk).find(assignment.interview_id, by.pk)
    reason = _check_undecided(progress, reason)
    assignment.completed_at = timezone.now()
    assignment.save(update_fields=["completed_at"])
    details: dict[str, object] = {"interview": assignment.interview_id, **progress._asdict()}
    if reason:
        details["reason"] = reason
    _record("round.assignment.completed", assignment.round, by, details, assignment)
    announce_if_completed(assignment.round)


def _check_undecided(progress: Progress, reason: str) -> str:
    """The cleaned reason. Raises ``StillUndecided`` if sentences are undecided and none is given."""
    reason = check_reason(reason, one_line=True)
    if progress.undecided and not reason:
        raise StillUndecided(
            f"{progress.undecided} of {progress.total} sentences of the model are undecided. Decide them (Enter at the desk), or "
            "give a reason for completing anyway.",
            field="reason",
        )
    return reason


@transaction.atomic
def complete_several(*, assignments: Sequence[Assignment], reason: str = "", by: User) -> None:
    """Complete all of these, or none. The reason is stored for interviews with undecided sentences. Raises as
    ``complete_assignment`` does, naming every such interview."""
    progress = read_progress([each.interview_id for each in assignments], coder_id=by.pk)
    undecided = []
    for assignment in assignments:
        own = progress.find(assignment.interview_id, by.pk)
        try:
            complete_assignment(assignment=assignment, reason=reason if own.undecided else "", by=by)
        except StillUndecided:
            undecided.append(f"“{assignment.interview.title}” ({own.undecided} of {own.total})")
    if undecided:
        raise StillUndecided(
            f"Sentences of the model are undecided in {', '.join(undecided)}. Decide them (Enter at the desk), untick these "
            "interviews, or give a reason for completing anyway.",
            field="reason",
        )


@transaction.atomic
def reopen_assignment(*, assignment: Assignment, reason: str, by: User) -> None:
    """Return an interview to its coder. Raises ``Refused`` without a reason or in a locked round."""
    _hold_open(assignment.round)
    assignment.refresh_from_db(fields=["completed_at", "withdrawn_at"])
    if assignment.completed_at is None or assignment.withdrawn_at:
        return
    reason = check_reason(reason, needed="Give a reason for returning these interviews.", one_line=True)
    assignment.completed_at = None
    assignment.save(update_fields=["completed_at"])
    details = {"interview": assignment.interview_id, "coder": assignment.coder_id, "reason": reason}
    _record("round.assignment.reopened", assignment.round, by, details, assignment)


@transaction.atomic
def lock_round(*, round_: Round, by: User) -> None:
    """Lock a round: nobody can code its interviews until it is unlocked. A locked round is left as it is."""
    held = Round.objects.select_for_update().get(pk=round_.pk)
    if held.locked_at:
        return
    Round.objects.filter(pk=held.pk).update(locked_at=timezone.now(), locked_by=by)
    active = held.assignments.filter(withdrawn_at__isnull=True)
    details = {"assignments": active.count(), "completed": active.filter(completed_at__isnull=False).count()}
    _record("round.locked", held, by, {"number": held.number, **details})


@transaction.atomic
def unlock_round(*, round_: Round, reason: str, by: User) -> None:
    """Unlock a round; completed assignments stay completed. Raises ``Refused``."""
    held = Round.objects.select_for_update().get(pk=round_.pk)
    if held.locked_at is None:
        return
    reason = check_reason(reason, needed="Give a reason for unlocking the round.", one_line=True)
    Round.objects.filter(pk=held.pk).update(locked_at=None, locked_by=None)
    _record("round.unlocked", held, by, {"number": held.number, "reason": reason})


def _hold_open(round_: Round) -> None:
    """Lock the round's row for this transaction. Raises ``Refused`` if the round is locked."""
    if Round.objects.select_for_update().get(pk=round_.pk).locked_at:
        raise Refused(f"{round_.name} is locked. A lead can unlock it, with a reason.")


def _record(action: str, round_: Round, by: User, details: dict[str, object], target: Assignment | None = None) -> None:
    trail.record(
        action,
        target=target or round_,
        by=by,
        stream=trail.study_stream(round_.study_id),
        details=details if target is None else {"round": round_.pk, **details},
    )


@transaction.atomic
def complete_interview(*, study: Study, interview: Interview, reason: str = "", by: User) -> Completion:
    """Record that ``by`` has completed an interview; she cannot code it until she undoes this.

    In a study without assignments this replaces completing an assignment. She can undo it until she opens her own figures with
    the interview: these reveal a machine's labels on withheld sentences, so her labels there are fixed from then on. Repeating
    it changes nothing. Raises ``StillUndecided`` while sentences of the model are undecided and no reason is given, and
    ``Refused`` for an interview that is assigned, or that a round closes.
    """
    if interview.study_id != study.pk:
        raise Refused("This interview is not part of this study.")
    if closes_the_rest(study) or interview.pk in find_dealt_out(study):
        raise Refused(
            "This interview is assigned, or closed by a round. Complete only interviews that are assigned to you."
        )
    active = Completion.objects.filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    if (stored := active.first()) is not None:
        return stored
    progress = read_progress([interview.pk], coder_id=by.pk).find(interview.pk, by.pk)
    if not progress.decided:
        raise Refused(f"You have decided nothing in “{interview.title}” yet, so there is nothing to complete.")
    reason = _check_undecided(progress, reason)
    completion = Completion(interview=interview, coder=by, completed_at=timezone.now())
    try:
        with transaction.atomic():
            completion.save(force_insert=True)
    except IntegrityError:
        return active.get()
    details: dict[str, object] = {"interview": interview.pk, **progress._asdict()}
    if reason:
        details["reason"] = reason
    trail.record(
        "interview.completed",
        target=completion,
        by=by,
        stream=trail.study_stream(study.pk),
        details=details,
        rows=[row_made(completion)],
    )
    return completion


@transaction.atomic
def reopen_interview(*, study: Study, interview: Interview, by: User) -> None:
    """Undo the completion of an interview, to continue coding. Raises ``Refused`` once one's own figures with it were opened."""
    own = Completion.objects.select_for_update().filter(interview=interview, coder=by, withdrawn_at__isnull=True)
    completion = own.first()
    if completion is None:
        return
    if completion.shown_at is not None:
        raise Refused(
            f"You have opened your own figures with “{interview.title}”. They reveal the labels of machines, so your labels in it "
            "can no longer change."
        )
    completion.withdrawn_at = timezone.now()
    completion.save(update_fields=["withdrawn_at"])
    row = row_changed(Completion, completion.pk, withdrawn_at=completion.withdrawn_at)
    trail.record(
        "interview.reopened",
        target=completion,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"interview": interview.pk},
        rows=[row],
    )


@transaction.atomic
def show_completed(*, study: Study, by: User) -> int:
    """Open one's own figures with all completed interviews, which fixes one's labels there. Returns the number of new ones."""
    own = Completion.objects.select_for_update().filter(interview__study=study, coder=by)
    completed = list(own.filter(withdrawn_at__isnull=True, shown_at__isnull=True).order_by("pk"))
    if not completed:
        return 0
    now = timezone.now()
    Completion.objects.filter(pk__in=[each.pk for each in completed]).update(shown_at=now)
    trail.record(
        "interview.completed_shown",
        target=by,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"interviews": sorted(each.interview_id for each in completed)},
        rows=[row_changed(Completion, each.pk, shown_at=now) for each in completed],
    )
    return len(completed)


def list_notes(user: User) -> list[str]:
    """A sentence for each open round with interviews that only this person has yet to code."""
    active = Assignment.objects.filter(withdrawn_at__isnull=True)
    others = active.filter(round=OuterRef("round"), interview=OuterRef("interview"), coder__is_active=True).exclude(
        coder=user
    )
    left = active.filter(coder=user, completed_at__isnull=True, round__locked_at__isnull=True).exclude(Exists(others))
    rounds = Round.objects.filter(pk__in=left.values("round")).select_related("study").order_by("study__name", "number")
    counts = {each.pk: left.filter(round=each).count() for each in rounds}
    return [
        f"Round {each.number} of the study {each.study.name}: {counts[each.pk]} "
        f"{'interview is' if counts[each.pk] == 1 else 'interviews are'} assigned to nobody else and not completed. Assign them to "
        "another person on the page of the round."
        for each in rounds
    ]


def list_assigned(study: Study, user: User) -> list[str]:
    """A sentence for each open round of the study with interviews that are assigned to this person and not completed."""
    left = Assignment.objects.counted().filter(
        round__study=study, coder=user, completed_at__isnull=True, round__locked_at__isnull=True
    )
    numbers = left.order_by("round__number").values_list("round__number").annotate(n=Count("pk"))
    return [
        f"Round {number}: {n} {'interview is' if n == 1 else 'interviews are'} assigned to {user.username} and not completed. The "
        f"round does not end until {'it is' if n == 1 else 'they are'} taken back or assigned to another person on the page of the "
        "round."
        for number, n in numbers
    ]


def announce_if_completed(round_: Round) -> None:
    """Notify other rooms if everything in the round is completed. The round's row is locked."""
    counted = round_.assignments.counted()
    if counted.filter(completed_at__isnull=True).exists() or not counted.exists():
        return
    send(round_completed, round_=round_)
