"""Unblinding an interview: recorded for good, because what its coder codes there afterwards is not blind."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.access import find_role
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission, Role

# Values of ``where`` for what no page asked: an interview tried out as a draft, and a change of role.
DRAFT = "draft"
ROLE = "role"


@transaction.atomic
def unblind_interview(*, study: Study, interview: Interview, by: User, where: str) -> Unblinding:
    """Record that ``by`` sees others' labels of an interview from now on. Nothing takes it back.

    A person whose role does not see every coding may unblind an interview once every round with it is locked. Raises
    ``Refused``.
    """
    return unblind_interviews(study=study, interviews=[interview], by=by, where=where)[0]


@transaction.atomic
def unblind_interviews(*, study: Study, interviews: Collection[Interview], by: User, where: str) -> list[Unblinding]:
    """The same for several interviews, all or none. Each has its own event; those unblinded before have none."""
    _check(study, interviews, by)
    return _store(study, interviews, by, where)


@transaction.atomic
def find_open_draft(*, study: Study, interview: Interview, by: User) -> Unblinding:
    """Record that ``by`` reads an interview as a draft, with others' labels in view.

    Asks for no more than that she belongs to the study. Raises ``Refused``.
    """
    check_belongs(study, [interview], by)
    return _store(study, [interview], by, DRAFT)[0]


@transaction.atomic
def unblind_former_reader(
    *, study: Study, interviews: Collection[Interview], user: User, by: trail.Actor, where: str = ROLE
) -> list[Unblinding]:
    """Record that ``user`` sees, or could see, others' labels of these interviews without an act of hers: in a role that does not
    code, which ``by`` ends, or because of what she said of others."""
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
