"""What other rooms do when somebody's role in a study changes: each says so when the program starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.studies.models import Project
from transcripts.studies.registrations import load_registrations
from transcripts.studies.roles import Permission, Role


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


_listeners: list[Callable[[RoleChange], None]] = []
_leaving: list[Callable[[Project, User], list[str]]] = []


def register_role_change(listener: Callable[[RoleChange], None]) -> None:
    """Register a function to call for every change, inside its transaction. Called once, in an app's ``registrations``."""
    _listeners.append(listener)


def register_leaving(tell: Callable[[Project, User], list[str]]) -> None:
    """Register what is to be said before a member is taken out of a study: sentences on what that leaves undone."""
    _leaving.append(tell)


def list_leaving(project: Project, user: User) -> list[str]:
    """What the person who removes a member should know before."""
    load_registrations()
    return [sentence for tell in _leaving for sentence in tell(project, user)]


def announce_role_change(change: RoleChange) -> None:
    """Tell every part that asked for it."""
    load_registrations()
    for listener in _listeners:
        listener(change)
