"""What the site and its web server (auditapp/site/serving.py) tell each other about the sender of a request.

The server looks up the sender only if it must: before it receives a large body. Otherwise the site informs the server, once it has
read the session or the token anyway. Other servers, such as that of the tests, exchange nothing with the site.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.http import HttpRequest

CLIENT = "auditapp.client"


class Claim(NamedTuple):
    """What a request says about its sender, not yet checked: the key of a session, or a token."""

    kind: str
    secret: str


class Client(Protocol):
    """The connection on which a request arrived."""

    def set_person(self, person: int) -> None:
        """Note that the request is from this person."""

    def begin_file(self) -> str:
        """Reserve a place for sending a large file. Returns "", or the reason why no place is free."""


def find_client(request: HttpRequest) -> Client | None:
    """The connection of a request; ``None`` if the server does not provide it."""
    return cast("Client | None", request.META.get(CLIENT))


def find_person(claim: Claim) -> int | None:
    """The person to whom a session or token belongs; ``None`` if it is invented or has ended."""
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
    """The claim of a request; ``None`` without a session or token."""
    words = authorization.split()
    if len(words) == 2 and words[0].lower() == "bearer":
        return Claim("token", words[1])
    key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    return Claim("session", key) if key else None
