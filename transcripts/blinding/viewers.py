"""The person who looks at labels, and whose labels she may see."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable
from functools import cached_property

from django.db.models import Exists, OuterRef

from transcripts.accounts.models import User
from transcripts.coding.models import Coding, Decision, Memo, Unblinding
from transcripts.coding.queries import find_closed_turns
from transcripts.corpus.models import Interview, Turn
from transcripts.hooks import load_registrations
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission, Role


class Viewer:
    """A person in a study who looks at labels: codes, decisions, memos and suggestions.

    ``codes``: she may code, so her own labels have to stay blind. ``sees_all``: her role allows her to see other people's
    labels. If both are true, she sees others' labels of an interview only after she has unblinded it.
    """

    def __init__(self, study: Study, user: User, role: Role) -> None:
        self.study = study
        self.user = user
        self.role = role
        self.user_id = user.pk
        self.codes = Permission.CODE in role.permissions
        self.sees_all = Permission.SEE_ALL_CODINGS in role.permissions

    @cached_property
    def unblinded(self) -> frozenset[int]:
        """The interviews that she has unblinded. One query."""
        return find_unblinded(self.user_id, self.study.pk)

    @cached_property
    def unblinded_anywhere(self) -> frozenset[int]:
        """The interviews of the study that she has unblinded, archived and excluded ones too. One query."""
        rows = Unblinding.objects.of_labels().filter(user=self.user_id, interview__owning_study=self.study)
        return frozenset(rows.values_list("interview", flat=True))

    @property
    def visible_interviews(self) -> frozenset[int] | None:
        """The interviews in which she may see others' labels, if her role sees any; ``None`` means all of them."""
        return self.unblinded if self.codes else None

    def blinded(self, interview_ids: Iterable[int]) -> set[int]:
        """The interviews that she would have to unblind before she may see others' labels there.

        This includes closed interviews, because they may be returned to her.
        """
        return set(interview_ids) - self.unblinded if self.codes else set()

    @cached_property
    def hidden_interviews(self) -> frozenset[int]:
        """The interviews in which others have coded, decided or written memos, and that she has not unblinded.

        Pages about several people's labels leave them out. One query.
        """
        if not self.codes:
            return frozenset()
        own = self.user_id
        coded = Coding.objects.active().filter(sentence__turn__interview=OuterRef("pk")).exclude(coder=own)
        decided = Decision.objects.active().filter(sentence__turn__interview=OuterRef("pk")).exclude(coder=own)
        noted = Memo.objects.active().filter(interview=OuterRef("pk")).exclude(author=own)
        unblinded = Unblinding.objects.of_labels().filter(user=own).values("interview")
        interviews = self.study.interviews.filter(Exists(coded) | Exists(decided) | Exists(noted))
        return frozenset(interviews.exclude(pk__in=unblinded).values_list("pk", flat=True))

    @cached_property
    def closed_turns(self) -> frozenset[int]:
        """The turns of reasoning that are closed to her: she codes, and has neither opened nor coded them, nor unblinded their
        interview. One query."""
        return self.find_closed()

    def find_closed(self, turns: Collection[int] | None = None) -> frozenset[int]:
        """The ``turns``, or all turns of the study, that are closed to her. One query."""
        if not self.codes:
            return frozenset()
        of_study = Turn.objects.filter(interview__study=self.study)
        return find_closed_turns(of_study if turns is None else of_study.filter(pk__in=turns), self.user_id)


def get_viewer(request: StudyRequest) -> Viewer:
    """The viewer of a request, made once."""
    viewer = getattr(request, "viewer", None)
    if viewer is None:
        viewer = request.viewer = Viewer(request.study, request.user, request.role)  # type: ignore[attr-defined]
    return viewer


def find_unblinded(user_id: int, study_id: int) -> frozenset[int]:
    """The interviews of a study whose labels a person has unblinded; opened conditions do not count: they show no labels."""
    rows = Unblinding.objects.of_labels().filter(user=user_id, interview__study=study_id)
    return frozenset(rows.values_list("interview", flat=True))


def find_unopened(user_id: int, interviews: Collection[int]) -> set[int]:
    """The masked interviews among these whose condition this person has not opened."""
    masked = set(Interview.objects.masked().filter(pk__in=interviews).values_list("pk", flat=True))
    opened = Unblinding.objects.of_conditions().filter(user=user_id, interview__in=masked)
    return masked - set(opened.values_list("interview", flat=True))


def read_unblindings(study: Study) -> dict[tuple[int, int], datetime.datetime]:
    """When each person unblinded the labels of each interview of the study, by the numbers of both."""
    rows = Unblinding.objects.of_labels().filter(interview__study=study)
    return {(user, interview): at for user, interview, at in rows.values_list("user", "interview", "unblinded_at")}


LabelFinder = Callable[[Study], Collection[int]]

_finders: list[LabelFinder] = []


def register_labels(find: LabelFinder) -> None:
    """Register a function that names the interviews with labels of another kind. Called once, in an app's ``registrations``."""
    _finders.append(find)


def list_labelled(study: Study) -> set[int]:
    """The interviews with labels of another kind, as the registered functions name them."""
    load_registrations()
    return {interview for find in _finders for interview in find(study)}
