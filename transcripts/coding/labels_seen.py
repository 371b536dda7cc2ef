"""What somebody who reads a study may have seen of its labels: opened to her for good once she may code there herself."""

from __future__ import annotations

from collections.abc import Callable, Collection

from transcripts.coding.models import Coding, Decision
from transcripts.coding.openings import open_seen
from transcripts.projects.models import Project
from transcripts.projects.role_changes import RoleChange

LabelFinder = Callable[[Project], Collection[int]]

_finders: list[LabelFinder] = []


def register_labels(find: LabelFinder) -> None:
    """Make a part known that names interviews with labels of its own in them. Called once, in an app's ``ready``."""
    _finders.append(find)


def keep_what_was_seen(change: RoleChange) -> None:
    """Store an opening of every interview with labels, when somebody who saw them all may code or leaves the study."""
    if not change.ends_reading:
        return
    where = "sentence__turn__interview"
    labelled: set[int] = set()
    for rows in (Coding.objects.all(), Decision.objects.all()):
        others = rows.filter(**{f"{where}__project": change.project}).exclude(coder=change.user).order_by()
        labelled |= set(others.values_list(where, flat=True).distinct())
    for find in _finders:
        labelled |= set(find(change.project))
    interviews = list(change.project.interviews.filter(pk__in=labelled).order_by("pk"))
    open_seen(project=change.project, interviews=interviews, user=change.user, by=change.by)
