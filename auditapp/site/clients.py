"""What the site and its web server (auditapp/site/serving.py) tell each other about who sends a request.

The server finds out who somebody is only where it must: before it receives a large body. Otherwise the site informs it, once it
has read the session or the token anyway. Other servers, such as that of the tests, tell nothing.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.http import HttpRequest

CLIENT = "auditapp.client"


class Claim(NamedTuple):
    """Who a request says that it is from: the key of a session, or a token. Nobody has checked it."""

    kind: str
    secret: str


class Client(Protocol):
    """The connection that a request came on."""

    def set_person(self, person: int) -> None:
        """Learn that the request is from this person."""

    def begin_file(self) -> str:
        """Take a place for a large file that is to be sent: "", or why there is none."""


def find_client(request: HttpRequest) -> Client | None:
    """The connection of a request, where its server says."""
    return cast("Client | None", request.META.get(CLIENT))


def find_person(claim: Claim) -> int | None:
    """Who a session or token belongs to; ``None`` for one that is invented, or has ended."""
    from transcripts.accounts.queries import find_token
    from transcripts.accounts.sessions import SessionStore

    try:
        if claim.kind == "token":
            token = find_token(claim.secret)
            return None if token is None else token.user_id
        person = SessionStore(claim.secret).get(SESSION_KEY)
        return None if person is None else int(person)
    finally:
        connection.close()


def read_claim(cookies: dict[str, str], authorization: str) -> Claim | None:
    """What a request says of its sender."""
    words = authorization.split()
    if len(words) == 2 and words[0].lower() == "bearer":
        return Claim("token", words[1])
    key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    return Claim("session", key) if key else None
