"""What is done to studies and their members."""

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
from transcripts.studies.models import Invitation, Membership, MethodStance, Project
from transcripts.studies.overview import STEPS
from transcripts.studies.queries import knows_family, may_renew_invitation, read_stances
from transcripts.studies.roles import OWNER, ROLES, Permission, Role
from transcripts.ui.typed_text import check_reason

MAX_NAME = 150
MAX_ADDRESS = 60
ADDED = 5
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@transaction.atomic
def create_project(*, slug: str, name: str, by: trail.Actor, description: str = "") -> Project:
    """Make an empty study. A person who makes one becomes its owner; the codebook is seeded by its own action.

    Raises ``Refused``, or ``PermissionDenied`` for a person without the right to start studies.
    """
    check_may_start_studies(by)
    slug, name = slug.strip(), name.strip()
    _check_name(name)
    if not slug or slugify(slug) != slug or len(slug) > MAX_ADDRESS:
        raise Refused(
            f"{slug!r} cannot be used in an address: use up to {MAX_ADDRESS} lower-case letters, digits and hyphens."
        )
    project, created = Project.objects.get_or_create(
        slug=slug, defaults={"name": name, "description": description.strip(), "created_at": timezone.now()}
    )
    if not created:
        raise Refused(f"There is already a study with the address {slug}. Choose another address.")
    trail.record("project.created", target=project, by=by, details={"slug": slug, "name": name})
    if isinstance(by, User):
        _write_role(project=project, user=by, role=OWNER.key, by=by)
    return project


@transaction.atomic
def skip_step(*, project: Project, step: str, by: trail.Actor, restores: bool = False) -> None:
    """Leave out a step of beginning the study, one of ``STEPS``; with ``restores`` bring it back. Nothing else changes.

    Raises ``Refused`` for a step that there is not. Callers make sure that ``by`` may run the study.
    """
    if step not in STEPS:
        raise Refused("There is no such step. Open the overview again.")
    # Locked: of two steps skipped at once, neither is forgotten.
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if (step in locked.skipped_steps) is not restores:
        return
    locked.skipped_steps = [key for key in STEPS if (key != step if key in locked.skipped_steps else key == step)]
    locked.save(update_fields=["skipped_steps"])
    trail.record(
        "project.step.restored" if restores else "project.step.skipped", target=locked, by=by, details={"step": step}
    )


def make_address(slug: str, *, by: User) -> str:
    """The address of a new study. Letters at random are added for a person who does not see every study: whether an address is
    taken would tell her which others there are."""
    return (
        slug if by.is_superuser else f"{slug[: MAX_ADDRESS - ADDED - 1].strip('-')}-{get_random_string(ADDED, LETTERS)}"
    )


@transaction.atomic
def set_member_role(*, project: Project, user: User, role: str, by: trail.Actor) -> Membership:
    """Give a member of the study another role. The owner of the site, and a command, may add somebody with it; everybody else
    invites her.

    Raises ``Refused`` when that would leave the study without an owner, ``PermissionDenied`` when ``by`` may not
    say who belongs to it.
    """
    _lock_members(project, by=by)
    _check_role(role)
    if isinstance(by, User) and not by.is_superuser and not _is_member(project, user):
        raise Refused(f"{user.username} is not a member of this study. Invite her first.")
    return _write_role(project=project, user=user, role=role, by=by)


@transaction.atomic
def remove_member(*, project: Project, user: User, by: trail.Actor) -> None:
    """Take ``user`` out of the study. Her codings stay."""
    _lock_members(project, by=by)
    membership = Membership.objects.filter(project=project, user=user).first()
    if membership is None:
        raise Refused(f"{user.username} is not a member of this study.")
    if membership.role == OWNER.key:
        _keep_an_owner(project, without=user)
    trail.record(
        "project.member.removed",
        target=membership,
        by=by,
        details={"username": user.username, "before": membership.role},
    )
    announce_role_change(RoleChange(project, user, membership.get_role(), None, by))
    membership.delete()


@transaction.atomic
def invite_person(
    *, project: Project, username: str, role: str, by: trail.Actor, is_owner_of_site: bool = False
) -> tuple[User, str]:
    """Make an account for somebody new, a place in the study, and the secret of a link that signs her in once.

    An open invitation of that name is replaced. Raises ``Refused`` for a name that is taken or cannot be used
    and for an unknown role, ``PermissionDenied`` when ``by`` may not invite people, or not say who belongs
    to the study.
    """
    check_may_invite(by)
    _lock_members(project, by=by)
    _check_role(role)
    user = create_user(username=username, by=by, is_owner_of_site=is_owner_of_site)
    replaced = project.invitations.filter(username__iexact=user.username, answer="")
    _close_invitations(replaced, Invitation.Answer.WITHDRAWN)
    membership = _write_role(project=project, user=user, role=role, by=by)
    membership.came_by_invitation = True
    membership.save(update_fields=["came_by_invitation"])
    return user, create_sign_in_link(user=user, by=by, life=INVITATION_LIFE)


@transaction.atomic
def invite_user(*, project: Project, username: str, role: str, by: trail.Actor) -> Invitation:
    """Offer a role to the person with this user name. The same is done, and said, if nobody has it.

    An open invitation of that name is replaced. Raises ``Refused`` for a member and an unknown role,
    ``PermissionDenied`` when ``by`` may not invite people, or not say who belongs to the study.
    """
    check_may_invite(by)
    _lock_members(project, by=by)
    _check_role(role)
    username = User.normalize_username(username.strip())
    if not username or len(username) > MAX_NAME or "\x00" in username:
        raise Refused(f"A user name has 1 to {MAX_NAME} characters.")
    user = find_user(username)
    if Membership.objects.filter(project=project, user__username__iexact=username).exists():
        raise Refused(f"{username} is a member of this study already. You can change the role in the list.")
    _close_invitations(project.invitations.filter(username__iexact=username, answer=""), Invitation.Answer.WITHDRAWN)
    invitation = Invitation.objects.create(
        project=project,
        username=username,
        user=user if user is not None and user.is_active else None,
        role=role,
        invited_by_name=by.get_username(),
        invited_at=timezone.now(),
    )
    _record_invitation("project.invitation.made", invitation, by)
    return invitation


@transaction.atomic
def withdraw_invitation(*, invitation: Invitation, by: trail.Actor) -> None:
    """Take an invitation back, unless it was answered. Reads invitation.project."""
    _lock_members(invitation.project, by=by)
    if _close_invitations(Invitation.objects.filter(pk=invitation.pk, answer=""), Invitation.Answer.WITHDRAWN):
        _record_invitation("project.invitation.withdrawn", invitation, by)


@transaction.atomic
def answer_invitation(*, invitation: Invitation, accepts: bool, by: User) -> bool:
    """Accept or decline an invitation of one's own; whether ``by`` is a member now. Reads invitation.project.

    Raises ``Refused`` for an invitation that is not open any more, ``PermissionDenied`` for somebody else's.
    """
    if invitation.user_id != by.pk:
        raise PermissionDenied("This invitation is for somebody else.")
    Project.objects.select_for_update().get(pk=invitation.project_id)
    answer = Invitation.Answer.ACCEPTED if accepts else Invitation.Answer.DECLINED
    if not _close_invitations(Invitation.objects.filter(pk=invitation.pk, answer=""), answer):
        raise Refused("This invitation was withdrawn or answered before. Ask for a new one.")
    _record_invitation(f"project.invitation.{answer.value}", invitation, by)
    if accepts and not _is_member(invitation.project, by):
        _write_role(project=invitation.project, user=by, role=invitation.role, by=by)
    return accepts


def _close_invitations(invitations: QuerySet[Invitation], answer: Invitation.Answer) -> int:
    return invitations.update(answer=answer, answered_at=timezone.now())


def _record_invitation(action: str, invitation: Invitation, by: trail.Actor) -> None:
    trail.record(action, target=invitation, by=by, details={"username": invitation.username, "role": invitation.role})


@transaction.atomic
def renew_invitation(*, project: Project, user: User, by: User) -> str:
    """The secret of a new sign-in link for a member who never came in.

    A link is its person: so nobody gets one for somebody who has an account of her own already, or who belongs to a
    study that ``by`` does not own. Raises ``Refused`` for those, ``PermissionDenied`` without the right to invite.
    """
    check_may_invite(by)
    _lock_members(project, by=by)
    membership = _find_newcomer(project, user)
    if not may_renew_invitation(by, membership):
        raise Refused(
            f"{user.username} was not invited to this study as somebody new, has signed in before, or belongs to "
            f"another study too. Only the administrator of this site can create a link: manage.py user sign-in {user.username}"
        )
    return create_sign_in_link(user=user, by=by, life=INVITATION_LIFE)


@transaction.atomic
def revoke_invitation(*, project: Project, user: User, by: User) -> bool:
    """End the unused sign-in link of a member who never came in; she stays a member, and a new link can be made for her.

    Whether there was one. Raises ``Refused`` for somebody for whom ``by`` could not have made it.
    """
    _lock_members(project, by=by)
    if not may_renew_invitation(by, _find_newcomer(project, user)):
        raise Refused(f"{user.username} has no link of this study that you could revoke.")
    return revoke_sign_in_links(user=user, by=by)


def _find_newcomer(project: Project, user: User) -> Membership:
    membership = Membership.objects.select_related("user").filter(project=project, user=user).first()
    if membership is None:
        raise Refused(f"{user.username} is not a member of this study.")
    return membership


@transaction.atomic
def set_stance(*, project: Project, family: str = "", stance: str, reason: str = "", by: trail.Actor) -> MethodStance:
    """Say by which method the study, or one code family of it, is read; what was said before stays on record.

    Once something was said of the family or the study, another stance needs a reason. The current stance is
    left as it is. Raises ``WrongInput``.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    reason = check_reason(reason)
    _check_stance(project, family=family, stance=stance)
    stances = read_stances(project)
    own = stances.families.get(family) if family else stances.study
    if own is not None and own.stance == stance:
        return own
    if (own or stances.study) is not None and not reason:
        raise WrongInput("A method was already set here. Say why it changes.", field="reason")
    before = stances.find(family)
    row = MethodStance.objects.create(
        project=project,
        family=family,
        stance=stance,
        reason=reason,
        set_at=timezone.now(),
        set_by_name=by.get_username(),
    )
    trail.record(
        "project.method.stance_set", target=row, by=by, details={"family": family, "before": before, "after": stance}
    )
    return row


def _check_stance(project: Project, *, family: str, stance: str) -> None:
    if stance not in MethodStance.Stance.values:
        raise WrongInput(
            f"There is no stance {stance!r}. The stances are {', '.join(MethodStance.Stance.values)}.", field="stance"
        )
    if family and not knows_family(project, family):
        raise WrongInput(f"There is no code family {family!r} in this study's codebook.", field="family")


def _lock_members(project: Project, *, by: trail.Actor) -> None:
    """Hold the study's members still for this transaction, after making sure that ``by`` may change them."""
    Project.objects.select_for_update().get(pk=project.pk)
    if isinstance(by, User):
        role = find_role(by, project)
        if role is None or Permission.MANAGE_MEMBERS not in role.permissions:
            raise PermissionDenied("Only an owner of this study can change its members.")


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise Refused(f"There is no role {role!r}. The roles are {', '.join(ROLES)}.")


def _is_member(project: Project, user: User) -> bool:
    return Membership.objects.filter(project=project, user=user).exists()


def _write_role(*, project: Project, user: User, role: str, by: trail.Actor) -> Membership:
    membership = Membership.objects.filter(project=project, user=user).first()
    if membership is not None and membership.role == role:
        return membership
    before = membership.role if membership else None
    if before == OWNER.key:
        _keep_an_owner(project, without=user)
    if membership is None:
        membership = Membership(project=project, user=user, joined_at=timezone.now())
    membership.role = role
    membership.save()
    trail.record(
        "project.member.role_set",
        target=membership,
        by=by,
        details={"username": user.username, "before": before, "after": role},
    )
    announce_role_change(RoleChange(project, user, ROLES[before] if before else None, ROLES[role], by))
    return membership


def _check_name(name: str) -> None:
    max_length = Project._meta.get_field("name").max_length
    if not name:
        raise Refused("A study needs a name.")
    if max_length is not None and len(name) > max_length:
        raise Refused(f"A study's name may have up to {max_length} characters; this one has {len(name)}.")


def _keep_an_owner(project: Project, *, without: User) -> None:
    owners = Membership.objects.filter(project=project, role=OWNER.key, user__is_active=True)
    if not owners.exclude(user=without).exists():
        raise Refused("A study needs an owner. Make somebody else owner first.")


class RoleChange(NamedTuple):
    """A member's role before and after; ``None`` for no part in the study."""

    project: Project
    user: User
    before: Role | None
    after: Role | None
    by: trail.Actor

    @property
    def ends_reading(self) -> bool:
        """Whether somebody who saw every coding, without any to keep blind, does so no more: she may code now, or come
        back to code."""
        if self.before is None or Permission.CODE in self.before.permissions:
            return False
        may_only_read = self.after is not None and Permission.CODE not in self.after.permissions
        return Permission.SEE_ALL_CODINGS in self.before.permissions and not may_only_read


def list_leaving(project: Project, user: User) -> list[str]:
    """What the person who removes a member should know before."""
    return [sentence for said in send(leaving_reviewed, project=project, user=user) for sentence in said]


def announce_role_change(change: RoleChange) -> None:
    """Tell every part that asked for it."""
    send(role_changed, change=change)
