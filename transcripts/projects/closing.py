"""What the closing of an account means for the studies of its person."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Invitation, Membership, Project
from transcripts.projects.roles import OWNER
from transcripts.refusals import Refused


def find_obstacles(user: User) -> list[str]:
    """A sentence for each study that would be left without an owner."""
    owners = Membership.objects.filter(role=OWNER.key, user__is_active=True).exclude(user=user)
    own = Project.objects.filter(memberships__user=user, memberships__role=OWNER.key)
    return [
        f"The study {project.name} has no other owner. Make somebody else its owner first, on its page Members."
        for project in own.exclude(pk__in=owners.values("project")).order_by("name", "pk")
    ]


def list_notes(user: User) -> list[str]:
    """Of which studies the person is a member, and what she offered to others."""
    names = list(Project.objects.filter(memberships__user=user).order_by("name", "pk").values_list("name", flat=True))
    notes = (
        [f"Studies of this account: {', '.join(names)}. What was done in them stays, under the same name."]
        if names
        else []
    )
    number = _find_invitations(user).count()
    invitations = "invitation that this account sent is" if number == 1 else "invitations that this account sent are"
    return [*notes, f"{number} {invitations} withdrawn."] if number else notes


def close(user: User, by: trail.Actor) -> None:
    """Withdraw the invitations that the person sent, and see once more that each study keeps an owner."""
    invitations = _find_invitations(user)
    own = Membership.objects.filter(user=user, role=OWNER.key)
    held = Project.objects.filter(Q(pk__in=own.values("project")) | Q(pk__in=invitations.values("project")))
    list(held.order_by("pk").select_for_update())
    # Somebody may have taken another owner out of a study since this was asked first.
    if obstacles := find_obstacles(user):
        raise Refused(" ".join(obstacles))
    for invitation in invitations:
        trail.record(
            "project.invitation.withdrawn",
            target=invitation,
            by=by,
            details={"username": invitation.username, "role": invitation.role},
        )
    invitations.update(answer=Invitation.Answer.WITHDRAWN, answered_at=timezone.now())


def _find_invitations(user: User) -> QuerySet[Invitation]:
    return Invitation.objects.filter(invited_by_name=user.username, answer="").order_by("pk")
