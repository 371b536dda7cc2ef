"""Interviews read as drafts: others' labels can be seen there before one's own decision. Codings after that count nowhere.

The room that keeps drafts registers a check when the program starts; this room knows nothing else about drafts.
"""

from __future__ import annotations

from collections.abc import Callable

from transcripts.projects.registrations import load_registrations

DraftFinder = Callable[[int], bool]

_finders: list[DraftFinder] = []


def register_drafts(find: DraftFinder) -> None:
    """Make a part known that can tell whether an interview is a draft now. Called once, in an app's ``registrations``."""
    _finders.append(find)


def is_draft(interview_id: int) -> bool:
    """Whether the interview is read as a draft now."""
    load_registrations()
    return any(find(interview_id) for find in _finders)
