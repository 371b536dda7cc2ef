"""What is done to studies and their members."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Membership, Project
from transcripts.projects.roles import OWNER, ROLES


class ProjectError(Exception):
    """A sentence for the person who asked."""


@transaction.atomic
def create_project(*, slug: str, name: str, by: trail.Actor, description: str = "") -> Project:
    """Make an empty study. A person who makes one becomes its owner; the codebook is seeded by its own action."""
    slug, name = slug.strip(), name.strip()
    if not name:
        raise ProjectError("A study needs a name.")
    if not slug or slugify(slug) != slug or len(slug) > 60:
        raise ProjectError(f"{slug!r} cannot stand in an address: use up to 60 small letters, digits and hyphens.")
    if Project.objects.filter(slug=slug).exists():
        raise ProjectError(f"There is already a study at {slug}.")
    project = Project.objects.create(slug=slug, name=name, description=description, created_at=timezone.now())
    trail.record(
        "project.created", target=project, by=by, stream=trail.project_stream(project.pk), details={"slug": slug, "name": name}
    )
    if isinstance(by, User):
        set_member_role(project=project, user=by, role=OWNER.key, by=by)
    return project


@transaction.atomic
def set_member_role(*, project: Project, user: User, role: str, by: trail.Actor) -> Membership:
    """Add ``user`` to the study with ``role``, or give her that role instead of her present one."""
    if role not in ROLES:
        raise ProjectError(f"There is no role {role!r}; the roles are {', '.join(ROLES)}.")
    membership = Membership.objects.filter(project=project, user=user).first()
    before = membership.role if membership else None
    if before == role and membership:
        return membership
    if before == OWNER.key:
        _keep_an_owner(project, without=user)
    membership, _ = Membership.objects.update_or_create(
        project=project, user=user, defaults={"role": role}, create_defaults={"role": role, "joined_at": timezone.now()}
    )
    trail.record(
        "project.member.role_set",
        target=membership,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"username": user.username, "before": before, "after": role},
    )
    return membership


@transaction.atomic
def remove_member(*, project: Project, user: User, by: trail.Actor) -> None:
    """Take ``user`` out of the study. Her codings stay."""
    membership = Membership.objects.filter(project=project, user=user).first()
    if membership is None:
        raise ProjectError(f"{user.username} does not belong to this study.")
    if membership.role == OWNER.key:
        _keep_an_owner(project, without=user)
    trail.record(
        "project.member.removed",
        target=membership,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"username": user.username, "before": membership.role},
    )
    membership.delete()


def _keep_an_owner(project: Project, *, without: User) -> None:
    if not Membership.objects.filter(project=project, role=OWNER.key).exclude(user=without).exists():
        raise ProjectError("A study needs an owner. Make somebody else owner first.")
