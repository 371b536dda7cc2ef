"""Authentication by token. A browser's session cookie is not accepted."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from auditapp.clients import find_client
from transcripts.accounts.actions import note_token_use
from transcripts.accounts.models import ApiToken, User
from transcripts.accounts.queries import find_token

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer SECRET``, for a token that is neither revoked nor expired, of a person whose account is open."""

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
