"""Actions on studies and their members."""

from __future__ import annotations

from typing import NamedTuple

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.text import slugify

from transcripts.accounts.actions import (
    INVITATION_LIFE,
    check_may_invite,
    check_may_start_studies,
    create_sign_in_link,
    create_user,
    revoke_sign_in_links,
)
from transcripts.accounts.models import User
from transcripts.accounts.queries import find_user
from transcripts.audit_trail import trail
from transcripts.hooks import leaving_reviewed, role_changed, send
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.access import find_role
from transcripts.studies.models import Invitation, Membership, MethodChoice, Study
from transcripts.studies.queries import STEPS, knows_family, may_renew_invitation, read_methods
from transcripts.studies.roles import OWNER, ROLES, Permission, Role
from transcripts.ui.typed_text import check_reason

MAX_NAME = 150
MAX_ADDRESS = 60
ADDED = 5
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@transaction.atomic
def create_study(*, slug: str, name: str, by: trail.Actor, description: str = "") -> Study:
    """Create an empty study. The person who creates it becomes its owner; another action creates the codebook.

    Raises ``Refused``, or ``PermissionDenied`` for a person without the right to start studies.
    """
    check_may_start_studies(by)
    slug, name = slug.strip(), name.strip()
    _check_name(name)
    if not slug or slugify(slug) != slug or len(slug) > MAX_ADDRESS:
        raise Refused(
            f"{slug!r} cannot be used in an address: use up to {MAX_ADDRESS} lower-case letters, digits and hyphens."
        )
    study, created = Study.objects.get_or_create(
        slug=slug, defaults={"name": name, "description": description.strip(), "created_at": timezone.now()}
    )
    if not created:
        raise Refused(f"There is already a study with the address {slug}. Choose another address.")
    trail.record("study.created", target=study, by=by, details={"slug": slug, "name": name})
    if isinstance(by, User):
        _write_role(study=study, user=by, role=OWNER.key, by=by)
    return study


@transaction.atomic
def skip_step(*, study: Study, step: str, by: trail.Actor, restores: bool = False) -> None:
    """Skip one of the first ``STEPS`` of the study; with ``restores`` bring it back. Nothing else changes.

    Raises ``Refused`` for an unknown step. Callers check that ``by`` may run the study.
    """
    if step not in STEPS:
        raise Refused("There is no such step. Open the overview again.")
    # Locked, so that of two steps skipped at once neither is lost.
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if (step in locked.skipped_steps) is not restores:
        return
    locked.skipped_steps = [key for key in STEPS if (key != step if key in locked.skipped_steps else key == step)]
    locked.save(update_fields=["skipped_steps"])
    trail.record(
        "study.step.restored" if restores else "study.step.skipped", target=locked, by=by, details={"step": step}
    )


def make_address(slug: str, *, by: User) -> str:
    """The address of a new study. Random letters are added for a person who does not see every study, because a taken address
    would reveal other studies to her."""
    return (
        slug if by.is_superuser else f"{slug[: MAX_ADDRESS - ADDED - 1].strip('-')}-{get_random_string(ADDED, LETTERS)}"
    )


@transaction.atomic
def set_member_role(*, study: Study, user: User, role: str, by: trail.Actor) -> Membership:
    """Give a member of the study another role. The owner of the site, and commands, may also add a person with a role;
    everybody else must invite her.

    Raises ``Refused`` if the study would have no owner, ``PermissionDenied`` if ``by`` may not manage the members.
    """
    _lock_members(study, by=by)
    _check_role(role)
    if isinstance(by, User) and not by.is_superuser and not _is_member(study, user):
        raise Refused(f"{user.username} is not a member of this study. Invite her first.")
    return _write_role(study=study, user=user, role=role, by=by)


@transaction.atomic
def remove_member(*, study: Study, user: User, by: trail.Actor) -> None:
    """Remove ``user`` from the study. Her codings stay."""
    _lock_members(study, by=by)
    membership = Membership.objects.filter(study=study, user=user).first()
    if membership is None:
        raise Refused(f"{user.username} is not a member of this study.")
    if membership.role == OWNER.key:
        _keep_an_owner(study, without=user)
    trail.record(
        "study.member.removed",
        target=membership,
        by=by,
        details={"username": user.username, "before": membership.role},
    )
    announce_role_change(RoleChange(study, user, membership.get_role(), None, by))
    membership.delete()


@transaction.atomic
def invite_person(
    *, study: Study, username: str, role: str, by: trail.Actor, is_owner_of_site: bool = False
) -> tuple[User, str]:
    """Create an account for a new person, a membership in the study, and a link that signs her in once; returns its secret.

    An open invitation of that name is replaced. Raises ``Refused`` for a name that is taken or invalid and for an unknown role,
    ``PermissionDenied`` if ``by`` may not invite people or manage the members.
    """
    check_may_invite(by)
    _lock_members(study, by=by)
    _check_role(role)
    user = create_user(username=username, by=by, is_owner_of_site=is_owner_of_site)
    replaced = study.invitations.filter(username__iexact=user.username, answer="")
    _close_invitations(replaced, Invitation.Answer.WITHDRAWN)
    membership = _write_role(study=study, user=user, role=role, by=by)
    membership.came_by_invitation = True
    membership.save(update_fields=["came_by_invitation"])
    return user, create_sign_in_link(user=user, by=by, life=INVITATION_LIFE)


@transaction.atomic
def invite_user(*, study: Study, username: str, role: str, by: trail.Actor) -> Invitation:
    """Offer a role to the person with this user name. The effect and the message are the same if nobody has it.

    An open invitation of that name is replaced. Raises ``Refused`` for a member and an unknown role, ``PermissionDenied`` if
    ``by`` may not invite people or manage the members.
    """
    check_may_invite(by)
    _lock_members(study, by=by)
    _check_role(role)
    username = User.normalize_username(username.strip())
    if not username or len(username) > MAX_NAME or "\x00" in username:
        raise Refused(f"A user name has 1 to {MAX_NAME} characters.")
    user = find_user(username)
    if Membership.objects.filter(study=study, user__username__iexact=username).exists():
        raise Refused(f"{username} is already a member of this study. You can change the role in the list.")
    _close_invitations(study.invitations.filter(username__iexact=username, answer=""), Invitation.Answer.WITHDRAWN)
    invitation = Invitation.objects.create(
        study=study,
        username=username,
        user=user if user is not None and user.is_active else None,
        role=role,
        invited_by_name=by.get_username(),
        invited_at=timezone.now(),
    )
    _record_invitation("study.invitation.made", invitation, by)
    return invitation


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, by: trail.Actor) -> None:
    """Withdraw an invitation, unless it was answered. Reads invitation.study."""
    _lock_members(invitation.study, by=by)
    if _close_invitations(Invitation.objects.filter(pk=invitation.pk, answer=""), Invitation.Answer.WITHDRAWN):
        _record_invitation("study.invitation.withdrawn", invitation, by)


@transaction.atomic
def answer_invitation(*, invitation: Invitation, accepts: bool, by: User) -> bool:
    """Accept or decline one's own invitation; returns whether ``by`` is a member now. Reads invitation.study.

    Raises ``Refused`` for an invitation that is no longer open, ``PermissionDenied`` for somebody else's.
    """
    if invitation.user_id != by.pk:
        raise PermissionDenied("This invitation is for another person.")
    Study.objects.select_for_update().get(pk=invitation.study_id)
    answer = Invitation.Answer.ACCEPTED if accepts else Invitation.Answer.DECLINED
    if not _close_invitations(Invitation.objects.filter(pk=invitation.pk, answer=""), answer):
        raise Refused("This invitation has already been withdrawn or answered. Ask for a new one.")
    _record_invitation(f"study.invitation.{answer.value}", invitation, by)
    if accepts and not _is_member(invitation.study, by):
        _write_role(study=invitation.study, user=by, role=invitation.role, by=by)
    return accepts


def _close_invitations(invitations: QuerySet[Invitation], answer: Invitation.Answer) -> int:
    return invitations.update(answer=answer, answered_at=timezone.now())


def _record_invitation(action: str, invitation: Invitation, by: trail.Actor) -> None:
    trail.record(action, target=invitation, by=by, details={"username": invitation.username, "role": invitation.role})


@transaction.atomic
def renew_invitation(*, study: Study, user: User, by: User) -> str:
    """Create a new sign-in link for a member who has never signed in, and return its secret.

    Anybody with the link can act as the person. So nobody gets one for a person who had an account before, or who belongs to a
    study that ``by`` does not own. Raises ``Refused`` for those, ``PermissionDenied`` without the right to invite.
    """
    check_may_invite(by)
    _lock_members(study, by=by)
    membership = _find_newcomer(study, user)
    if not may_renew_invitation(by, membership):
        raise Refused(
            f"{user.username} was not invited to this study as a new person, has signed in before, or also belongs to another "
            f"study. Only the administrator of this site can create a link: manage.py user sign-in {user.username}"
        )
    return create_sign_in_link(user=user, by=by, life=INVITATION_LIFE)


@transaction.atomic
def revoke_invitation(*, study: Study, user: User, by: User) -> bool:
    """End the unused sign-in link of a member who has never signed in; she stays a member, and a new link can be made for her.

    Returns whether there was one. Raises ``Refused`` for a person for whom ``by`` could not have made it.
    """
    _lock_members(study, by=by)
    if not may_renew_invitation(by, _find_newcomer(study, user)):
        raise Refused(f"{user.username} has no link from this study that you can revoke.")
    return revoke_sign_in_links(user=user, by=by)


def _find_newcomer(study: Study, user: User) -> Membership:
    membership = Membership.objects.select_related("user").filter(study=study, user=user).first()
    if membership is None:
        raise Refused(f"{user.username} is not a member of this study.")
    return membership


@transaction.atomic
def set_method(*, study: Study, family: str = "", method: str, reason: str = "", by: trail.Actor) -> MethodChoice:
    """Set the method of the study, or of one of its code families; earlier methods stay on record.

    If a method was set before, another one needs a reason. Setting the current method changes nothing. Raises ``WrongInput``.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    reason = check_reason(reason)
    _check_method(study, family=family, method=method)
    methods = read_methods(study)
    own = methods.families.get(family) if family else methods.study
    if own is not None and own.method == method:
        return own
    if (own or methods.study) is not None and not reason:
        raise WrongInput("A method was already set here. Give a reason for the change.", field="reason")
    before = methods.find(family)
    row = MethodChoice.objects.create(
        study=study,
        family=family,
        method=method,
        reason=reason,
        set_at=timezone.now(),
        set_by_name=by.get_username(),
    )
    trail.record("study.method.set", target=row, by=by, details={"family": family, "before": before, "after": method})
    return row


def _check_method(study: Study, *, family: str, method: str) -> None:
    if method not in MethodChoice.Method.values:
        raise WrongInput(
            f"There is no method {method!r}. The methods are {', '.join(MethodChoice.Method.values)}.", field="method"
        )
    if family and not knows_family(study, family):
        raise WrongInput(f"There is no code family {family!r} in this study's codebook.", field="family")


def _lock_members(study: Study, *, by: trail.Actor) -> None:
    """Lock the study's members for this transaction, after checking that ``by`` may change them."""
    Study.objects.select_for_update().get(pk=study.pk)
    if isinstance(by, User):
        role = find_role(by, study)
        if role is None or Permission.MANAGE_MEMBERS not in role.permissions:
            raise PermissionDenied("Only an owner of this study can change its members.")


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise Refused(f"There is no role {role!r}. The roles are {', '.join(ROLES)}.")


def _is_member(study: Study, user: User) -> bool:
    return Membership.objects.filter(study=study, user=user).exists()


def _write_role(*, study: Study, user: User, role: str, by: trail.Actor) -> Membership:
    membership = Membership.objects.filter(study=study, user=user).first()
    if membership is not None and membership.role == role:
        return membership
    before = membership.role if membership else None
    if before == OWNER.key:
        _keep_an_owner(study, without=user)
    if membership is None:
        membership = Membership(study=study, user=user, joined_at=timezone.now())
    membership.role = role
    membership.save()
    trail.record(
        "study.member.role_set",
        target=membership,
        by=by,
        details={"username": user.username, "before": before, "after": role},
    )
    announce_role_change(RoleChange(study, user, ROLES[before] if before else None, ROLES[role], by))
    return membership


def _check_name(name: str) -> None:
    max_length = Study._meta.get_field("name").max_length
    if not name:
        raise Refused("A study needs a name.")
    if max_length is not None and len(name) > max_length:
        raise Refused(f"A study's name may have up to {max_length} characters; this one has {len(name)}.")


def _keep_an_owner(study: Study, *, without: User) -> None:
    owners = Membership.objects.filter(study=study, role=OWNER.key, user__is_active=True)
    if not owners.exclude(user=without).exists():
        raise Refused("A study needs an owner. Make another person owner first.")


class RoleChange(NamedTuple):
    """A member's role before and after; ``None`` for no membership."""

    study: Study
    user: User
    before: Role | None
    after: Role | None
    by: trail.Actor

    @property
    def ends_reading(self) -> bool:
        """Whether the change ends a role that sees every coding and does not code: she may code now, or return as a coder."""
        if self.before is None or Permission.CODE in self.before.permissions:
            return False
        may_only_read = self.after is not None and Permission.CODE not in self.after.permissions
        return Permission.SEE_ALL_CODINGS in self.before.permissions and not may_only_read


def list_leaving(study: Study, user: User) -> list[str]:
    """What the person who removes a member should know first."""
    return [sentence for said in send(leaving_reviewed, study=study, user=user) for sentence in said]


def announce_role_change(change: RoleChange) -> None:
    """Notify other rooms of a change of role."""
    send(role_changed, change=change)
