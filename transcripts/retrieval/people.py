"""Whose codings somebody may look at."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from transcripts.accounts.models import User
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Coding
from transcripts.projects.models import Project
from transcripts.projects.roles import ROLES, Permission
from transcripts.retrieval.catalog import Catalog
from transcripts.retrieval.pure.asking import EVERYBODY, OWN
from transcripts.retrieval.queries import Visibility

CODING_ROLES = [key for key, role in ROLES.items() if Permission.CODE in role.permissions]


def find_visibility(viewer: Viewer, coder: str) -> Visibility:
    """Whose codings ``coder`` (as asked for) means; the forms check who may ask for whom."""
    if coder == OWN or not viewer.sees_all:
        return Visibility(viewer.user_id, closed=viewer.closed_turns)
    coder_id = None if coder == EVERYBODY else User.objects.get(username=coder).pk
    return Visibility(coder_id, viewer.hidden_interviews, viewer.closed_turns)


def list_coders(project: Project, catalog: Catalog) -> list[str]:
    """The names of those who code or have coded in the study."""
    codes = [pk for ids in catalog.ids.values() for pk in ids]
    coded = Exists(Coding.objects.filter(coder=OuterRef("pk"), code__in=codes))
    coders = User.objects.filter(Q(memberships__project=project, memberships__role__in=CODING_ROLES) | coded)
    return list(coders.distinct().order_by("username").values_list("username", flat=True))
