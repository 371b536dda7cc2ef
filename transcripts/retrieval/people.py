"""Whose codings somebody may look at, and what has to be opened first."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from transcripts.accounts.models import User
from transcripts.coding.models import Coding
from transcripts.projects.models import Project
from transcripts.projects.roles import ROLES, Permission, Role
from transcripts.retrieval.asking import EVERYBODY, OWN
from transcripts.retrieval.catalog import Catalog
from transcripts.retrieval.queries import Sight

CODING_ROLES = [key for key, role in ROLES.items() if Permission.CODE in role.permissions]


def find_sight(user: User, role: Role, coder: str) -> Sight:
    """Whose codings ``coder`` (as asked for) stands for; who may ask for whom is checked by the forms.

    Who codes herself sees her colleagues' work in the interviews where she has opened it, which is on record.
    """
    if coder == OWN or Permission.SEE_ALL_CODINGS not in role.permissions:
        return Sight(user.pk)
    opened_by = user.pk if Permission.CODE in role.permissions else None
    if coder == EVERYBODY:
        return Sight(None, opened_by)
    return Sight(User.objects.get(username=coder).pk, opened_by)


def list_coders(project: Project, catalog: Catalog) -> list[str]:
    """The names of those who code or have coded in the study."""
    codes = [pk for ids in catalog.ids.values() for pk in ids]
    coded = Exists(Coding.objects.filter(coder=OuterRef("pk"), code__in=codes))
    coders = User.objects.filter(Q(memberships__project=project, memberships__role__in=CODING_ROLES) | coded)
    return list(coders.distinct().order_by("username").values_list("username", flat=True))
