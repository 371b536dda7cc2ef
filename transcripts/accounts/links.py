"""Whether somebody signed in by a link a moment ago: she may set a new password without the old one."""

from __future__ import annotations

import time

from django.http import HttpRequest

from transcripts.accounts.actions import SIGN_IN_LINK_LIFE
from transcripts.accounts.models import User

CAME_BY_LINK = "came_by_link_at"
# As long as a link lives.
CAME_BY_LINK_SECONDS = SIGN_IN_LINK_LIFE.total_seconds()


def note_link(request: HttpRequest, user: User) -> None:
    """Note in the session that ``user`` came by a link."""
    request.session[CAME_BY_LINK] = [user.pk, time.time()]


def forget_link(request: HttpRequest) -> None:
    """Once is enough."""
    request.session.pop(CAME_BY_LINK, None)


def came_by_link(request: HttpRequest, user: User) -> bool:
    """Whether it was this person, within the last half hour."""
    noted = request.session.get(CAME_BY_LINK)
    return isinstance(noted, list) and noted[0] == user.pk and time.time() - noted[1] < CAME_BY_LINK_SECONDS
