"""Who is looking at labels, and whose labels she may see."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from functools import cached_property

from django.db.models import Exists, OuterRef, QuerySet

from transcripts.accounts.models import User
from transcripts.coding.models import Coding, Decision, Memo, Unblinding
from transcripts.corpus.models import Interview
from transcripts.projects.access import ProjectRequest
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission, Role


class Viewer:
    """Somebody in a study who looks at labels: codes, decisions, memos and suggestions.

    ``codes``: she may code, so she has labels of her own that have to stay blind. ``sees_all``: her role lets her see
    other people's labels. Who does both sees others' labels of an interview only after she has unblinded it.
    """

    def __init__(self, project: Project, user: User, role: Role) -> None:
        self.project = project
        self.user = user
        self.role = role
        self.user_id = user.pk
        self.codes = Permission.CODE in role.permissions
        self.sees_all = Permission.SEE_ALL_CODINGS in role.permissions

    @cached_property
    def unblinded(self) -> frozenset[int]:
        """The interviews that she has unblinded. One query."""
        rows = Unblinding.objects.filter(user=self.user, interview__project=self.project)
        return frozenset(rows.values_list("interview", flat=True))

    @property
    def visible_interviews(self) -> frozenset[int] | None:
        """The interviews in which she may see others' labels, if her role sees any; ``None`` means all of them."""
        return self.unblinded if self.codes else None

    def blinded(self, interview_ids: Iterable[int]) -> set[int]:
        """Those of the interviews that she would have to unblind before she may see others' labels there.

        A closed interview is no exception: it may be given back to her.
        """
        return set(interview_ids) - self.unblinded if self.codes else set()

    def blinded_with_work(self) -> QuerySet[Interview]:
        """The interviews in which others have coded, decided or written memos, and that she has not unblinded."""
        if not self.codes:
            return self.project.interviews.none()
        own = self.user_id
        coded = Coding.objects.active().filter(sentence__turn__interview=OuterRef("pk")).exclude(coder=own)
        decided = Decision.objects.active().filter(sentence__turn__interview=OuterRef("pk")).exclude(coder=own)
        noted = Memo.objects.active().filter(interview=OuterRef("pk")).exclude(author=own)
        unblinded = Unblinding.objects.filter(user=own).values("interview")
        interviews = self.project.interviews.filter(Exists(coded) | Exists(decided) | Exists(noted))
        return interviews.exclude(pk__in=unblinded).order_by("pk")


def get_viewer(request: ProjectRequest) -> Viewer:
    """The viewer of a request, made once."""
    viewer = getattr(request, "viewer", None)
    if viewer is None:
        viewer = request.viewer = Viewer(request.project, request.user, request.role)  # type: ignore[attr-defined]
    return viewer


def read_unblindings(project: Project) -> dict[tuple[int, int], datetime.datetime]:
    """When each person unblinded each interview of the study, by the numbers of both."""
    rows = Unblinding.objects.filter(interview__project=project)
    return {(user, interview): at for user, interview, at in rows.values_list("user", "interview", "unblinded_at")}
