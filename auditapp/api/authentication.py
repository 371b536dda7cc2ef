"""Who a program acts for, and how many requests it may send."""

from __future__ import annotations

import time
from collections.abc import Hashable
from threading import Lock
from typing import TYPE_CHECKING, cast

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from auditapp.site.clients import find_client
from transcripts.accounts.actions import note_token_use
from transcripts.accounts.models import ApiToken, User
from transcripts.accounts.queries import find_token

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module

SCHEME = "Bearer"
MINUTE = 60.0
MAX_KEYS = 10_000

clock = time.monotonic
_lock = Lock()
# For each token and account, when its allowance of a minute will be whole again.
_whole_again_at: dict[Hashable, float] = {}


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer SECRET``, with a token that is neither revoked nor expired, of a person whose account is open."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        words = request.headers.get("Authorization", "").split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != SCHEME.lower():
            raise AuthenticationFailed(f"The Authorization header must read: {SCHEME} TOKEN.")
        token = find_token(words[1])
        if token is None:
            raise AuthenticationFailed(
                "This token is unknown, revoked or expired, or its account is closed. Create a new one on your account page."
            )
        note_token_use(token)
        if (client := find_client(request._request)) is not None:  # noqa: SLF001
            client.set_person(token.user_id)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="auditapp"'


def take(allowances: dict[Hashable, int]) -> float:
    """Take one request from each allowance (requests a minute, by key), or from none.

    Returns the seconds to wait, 0 if taken. An allowance may be used all at once, and refills steadily.
    """
    now = clock()
    with _lock:
        at = {key: max(_whole_again_at.get(key, now), now) + MINUTE / limit for key, limit in allowances.items()}
        wait = max(at.values()) - now - MINUTE
        if wait > 0:
            return wait
        _whole_again_at.update(at)
        if len(_whole_again_at) > MAX_KEYS:
            for key in [key for key, whole in _whole_again_at.items() if whole <= now]:
                del _whole_again_at[key]
        return 0.0


class RequestThrottle(BaseThrottle):
    """Refuses requests beyond API_REQUESTS_PER_MINUTE: per token, and twice as many per account.

    Requests are counted in the memory of this process. A count in the database would turn every read into a write, and the
    purpose is to stop a runaway script, not somebody who guesses tokens. A site with several web servers allows this number on
    each of them.
    """

    seconds = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit = settings.API_REQUESTS_PER_MINUTE
        token = cast("ApiToken", request.auth)
        self.seconds = take({("token", token.secret_hash): limit, ("account", token.user_id): 2 * limit})
        return not self.seconds

    def wait(self) -> float:
        return self.seconds
