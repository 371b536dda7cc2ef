"""What somebody could see while she only read a study: it is unblinded for her once she may code there."""

from __future__ import annotations

from collections.abc import Callable, Collection

from transcripts.blinding.actions import unblind_former_reader
from transcripts.coding.models import Coding, Decision
from transcripts.studies.models import Project
from transcripts.studies.registrations import load_registrations
from transcripts.studies.role_changes import RoleChange

LabelFinder = Callable[[Project], Collection[int]]

_finders: list[LabelFinder] = []


def register_labels(find: LabelFinder) -> None:
    """Register a function that names the interviews with labels of another kind. Called once, in an app's ``registrations``."""
    _finders.append(find)


def keep_what_was_seen(change: RoleChange) -> None:
    """Unblind every interview with labels when somebody who saw them all may code from now on, or leaves the study."""
    if not change.ends_reading:
        return
    where = "sentence__turn__interview"
    labelled: set[int] = set()
    for rows in (Coding.objects.all(), Decision.objects.all()):
        others = rows.filter(**{f"{where}__project": change.project}).exclude(coder=change.user).order_by()
        labelled |= set(others.values_list(where, flat=True).distinct())
    load_registrations()
    for find in _finders:
        labelled |= set(find(change.project))
    interviews = list(change.project.interviews.filter(pk__in=labelled).order_by("pk"))
    unblind_former_reader(project=change.project, interviews=interviews, user=change.user, by=change.by)
