"""Unblinding an interview. It is recorded permanently, because what its coder codes there afterwards is not blind.

One person can open the condition of a masked thread for herself, or a lead can unmask it for everybody.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import find_unopened, list_labelled
from transcripts.coding.models import CONDITION, NOT_CODING, Coding, Decision, Unblinding
from transcripts.corpus import masked
from transcripts.corpus.models import RUN_FACTS, Interview, InterviewChange, MaskedFacts, Standing
from transcripts.desk.exchanges import write_value
from transcripts.refusals import Refused
from transcripts.rounds.queries import find_locked_interviews, find_unlocked_rounds
from transcripts.studies.access import find_role
from transcripts.studies.actions import RoleChange
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission, Role
from transcripts.ui.typed_text import check_reason

# Values of ``where`` without a page: an interview that is a draft, and a change of role.
DRAFT = "draft"
ROLE = "role"


@transaction.atomic
def unblind_interview(*, study: Study, interview: Interview, by: User, where: str) -> Unblinding:
    """Record that ``by`` sees others' labels of an interview from now on. This cannot be undone.

    A person whose role does not see every coding may unblind an interview once every round with it is locked. Raises
    ``Refused``.
    """
    return unblind_interviews(study=study, interviews=[interview], by=by, where=where)[0]


@transaction.atomic
def unblind_interviews(*, study: Study, interviews: Collection[Interview], by: User, where: str) -> list[Unblinding]:
    """The same for several interviews, all or none. Each has its own event, unless it was already unblinded."""
    _check(study, interviews, by)
    return _store(study, interviews, by, where)


@transaction.atomic
def find_open_draft(*, study: Study, interview: Interview, by: User) -> Unblinding:
    """Record that ``by`` reads an interview as a draft, with others' labels visible.

    Requires only that she belongs to the study. Raises ``Refused``.
    """
    check_belongs(study, [interview], by)
    return _store(study, [interview], by, DRAFT)[0]


@transaction.atomic
def unblind_former_reader(
    *, study: Study, interviews: Collection[Interview], user: User, by: trail.Actor, where: str = ROLE
) -> list[Unblinding]:
    """Record that ``user`` sees, or could see, others' labels of these interviews without her own act: in a role that does not
    code, which ``by`` ends, or because of her statement about other interviews."""
    return _store(study, interviews, user, where, by=by)


def _store(
    study: Study, interviews: Collection[Interview], user: User, where: str, *, by: trail.Actor | None = None
) -> list[Unblinding]:
    stored = []
    for interview in interviews:
        unblinding, is_new = Unblinding.objects.of_labels().get_or_create(
            interview=interview, user=user, defaults={"where": where, "unblinded_at": timezone.now()}
        )
        stored.append(unblinding)
        if is_new:
            # The action keeps the name it has in the hashed history of existing studies.
            trail.record(
                "coding.opened",
                target=unblinding,
                by=by or user,
                stream=trail.study_stream(study.pk),
                details={"interview": interview.pk, "where": where},
            )
    return stored


def check_belongs(study: Study, interviews: Collection[Interview], by: User) -> Role:
    """The role of ``by`` in the study of these interviews. Raises ``Refused``."""
    if any(interview.owning_study_id != study.pk for interview in interviews):
        raise Refused("This interview is not part of this study.")
    role = find_role(by, study)
    if role is None:
        raise Refused("You do not belong to this study.")
    return role


def _check(study: Study, interviews: Collection[Interview], by: User) -> None:
    role = check_belongs(study, interviews, by)
    if Permission.SEE_ALL_CODINGS in role.permissions:
        return
    locked = find_locked_interviews(study)
    if any(interview.pk not in locked for interview in interviews):
        raise Refused("You can unblind an interview once every round that includes it is locked.")


def keep_what_was_seen(change: RoleChange) -> None:
    """Unblind every interview with labels if a person who saw them all may code from now on, or leaves the study."""
    if not change.ends_reading:
        return
    where = "sentence__turn__interview"
    labelled = list_labelled(change.study)
    for rows in (Coding.objects.all(), Decision.objects.all()):
        others = rows.filter(**{f"{where}__study": change.study}).exclude(coder=change.user).order_by()
        labelled |= set(others.values_list(where, flat=True).distinct())
    interviews = list(change.study.interviews.filter(pk__in=labelled).order_by("pk"))
    unblind_former_reader(study=change.study, interviews=interviews, user=change.user, by=change.by)


LABELS_NAMED = 5
# The facts that a person is shown, in this order, by the names of columns.
SHOWN = {
    "title": "Title",
    "external_id": "Id in the file",
    "model_label": "Model",
    "vendor": "Vendor",
    "surface": "Surface",
    "period": "Date",
    "interviewer": "Interviewer",
    "tier": "Tier",
    "inclusion_reason": "Reason for the inclusion",
    "opening_prompt": "Opening prompt",
}


@transaction.atomic
def open_condition(*, study: Study, interview: Interview, by: User) -> Unblinding:
    """Record that ``by`` knows the condition of a masked interview from now on. This cannot be undone.

    She may do so at any time, even before the round is locked, because it shows her nobody's labels; what she codes there
    afterwards is assisted. Raises ``Refused``.
    """
    role = check_belongs(study, [interview], by)
    if Permission.CODE not in role.permissions:
        raise Refused("Only people who code can open the condition for themselves. A lead can unmask the interview.")
    if not Interview.objects.masked().select_for_update(no_key=True).filter(pk=interview.pk).exists():
        raise Refused("This interview is not masked. Everyone can see its condition on the page of its details.")
    return find_opening(interview, by) or _store_opening(study, interview, by)


@transaction.atomic
def open_interviews(*, study: Study, interviews: Collection[Interview], by: User) -> None:
    """Record that ``by`` will not code these interviews: she sees others' labels there, and the condition of masked ones.

    All or none, with both kinds of events. Raises ``Refused``.
    """
    unblind_interviews(study=study, interviews=interviews, by=by, where=NOT_CODING)
    unopened = find_unopened(by.pk, [each.pk for each in interviews])
    for interview in interviews:
        if interview.pk in unopened:
            _store_opening(study, interview, by)


@transaction.atomic
def open_later_interviews(*, study: Study, before: Collection[int], stored: Collection[Interview]) -> None:
    """Also open ``stored`` to everybody who has said that she will not code the related interviews ``before``."""
    rows = Unblinding.objects.filter(interview__in=before, where=NOT_CODING).order_by("user").values("user").distinct()
    for user in User.objects.filter(pk__in=rows).order_by("pk"):
        unblind_former_reader(study=study, interviews=stored, user=user, by=trail.SYSTEM, where=NOT_CODING)
        for interview in stored:
            _store_opening(study, interview, user, by=trail.SYSTEM)


def will_not_code(user_id: int, interviews: Collection[int]) -> bool:
    """Whether this person has said of any of these interviews that she will not code them."""
    return Unblinding.objects.filter(user=user_id, interview__in=interviews, where=NOT_CODING).exists()


def _store_opening(study: Study, interview: Interview, user: User, *, by: trail.Actor | None = None) -> Unblinding:
    try:
        with transaction.atomic():
            stored = Unblinding.objects.create(
                interview=interview, user=user, where=CONDITION, unblinded_at=timezone.now()
            )
    except IntegrityError:
        return Unblinding.objects.of_conditions().get(interview=interview, user=user)
    trail.record(
        "coding.condition.opened",
        target=stored,
        by=by or user,
        stream=trail.study_stream(study.pk),
        details={"interview": interview.pk, "where": CONDITION},
    )
    return stored


def find_opening(interview: Interview, person: User) -> Unblinding | None:
    """When this person opened the condition of the interview, if she did."""
    return Unblinding.objects.of_conditions().filter(interview=interview, user=person).first()


def describe_condition(facts: MaskedFacts) -> dict[str, Any]:
    """The sealed facts of an interview for the page of its condition: ``known`` facts by name, its ``files``, the ``system``
    prompts, and the ``models`` that its turns name."""
    sealed = facts.facts
    known = [(label, write_value(sealed[name])) for name, label in SHOWN.items() if sealed.get(name)]
    more = [(str(name), write_value(value)) for name, value in sealed.get("metadata", {}).items()]
    more += [
        (RUN_FACTS.get(name, name.capitalize()), write_value(value)) for name, value in sealed.get("run", {}).items()
    ]
    turns = [facts.turns[position] for position in sorted(facts.turns, key=int)]
    systems = set(facts.interview.turns.filter(role="system").values_list("position", flat=True))
    return {
        "known": [*known, *more],
        "files": list(sealed.get("files", {}).values()),
        "system": [turn["text"] for place in sorted(systems) if "text" in (turn := facts.turns.get(str(place), {}))],
        "models": sorted({str(turn["details"]["model"]) for turn in turns if turn.get("details", {}).get("model")}),
    }


@transaction.atomic
def unmask_interviews(*, study: Study, interviews: Collection[Interview], reason: str, by: User) -> list[Interview]:
    """Restore everything that was sealed of these interviews, permanently and for everybody: all or none.

    A lead or an owner does this, with a reason, once every round with one of them is locked. Sentences whose text changes get
    new hashes; a file gets its name back when it has no masked interview left. Returns the interviews that were masked. Raises
    ``Refused``.
    """
    needed = "Give a reason for unmasking, such as “all rounds are locked”. The reason is kept."
    reason = check_reason(reason, needed=needed)
    role = check_belongs(study, interviews, by)
    if Permission.IMPORT not in role.permissions:
        raise Refused(f"Only leads and owners can unmask interviews. Your role in this study is {role.name}.")
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    wanted = Interview.objects.kept().masked().filter(owning_study=study, pk__in=[each.pk for each in interviews])
    held = list(wanted.select_for_update(no_key=True).order_by("pk"))
    if not held:
        raise Refused("Choose at least one interview that is masked.")
    if rounds := find_unlocked_rounds(study, [each.pk for each in held]):
        named = ", ".join(rounds[:LABELS_NAMED])
        raise Refused(f"Nothing was unmasked. First lock the rounds in which these interviews are coded: {named}.")
    _check_ids(study, held)
    now = timezone.now()
    told = masked.unseal(held, at=now)
    changes = [
        InterviewChange(
            interview=each, field="masked", old=each.mask_label, new="", reason=reason, changed_at=now, changed_by=by
        )
        for each in held
    ]
    InterviewChange.objects.bulk_create(changes, batch_size=500)
    files = masked.name_files(study, told)
    trail.record(
        "corpus.interviews.unmasked",
        target=study,
        by=by,
        details={
            "interviews": [each.pk for each in held],
            "labels": [each.mask_label for each in held],
            "files": files,
            "reason": reason,
        },
    )
    return held


def _check_ids(study: Study, held: Collection[Interview]) -> None:
    """Check that no other interview of the study has a restored id."""
    others = Interview.objects.filter(owning_study=study).exclude(standing=Standing.UNDONE)
    taken = others.filter(external_id__in=MaskedFacts.objects.filter(interview__in=held).values("external_id"))
    if named := list(taken.order_by("pk").values_list("external_id", flat=True)[:LABELS_NAMED]):
        raise Refused(
            f"Other interviews of the study already have the ids of these in their files: {', '.join(named)}. Undo the import of "
            "those interviews, then unmask again. Nothing was unmasked."
        )
