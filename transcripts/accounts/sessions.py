"""Sessions, the people behind them and the messages to them, read on the way to every page.

Django's own classes do the same through query sets, which take five times as long to build as a database to answer;
that is a fifth of the time it takes to save a code (benchmarks/saving.py). Writing and everything rare is left to them.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.messages.storage.base import BaseStorage
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.contrib.sessions.backends import db
from django.core.signing import Signer, get_cookie_signer
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from transcripts.accounts.models import User

SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"
RIGHTS = ("may_start_studies", "may_invite")
FLAGS = ("is_superuser", "is_active", *RIGHTS)
# In the order of the model's fields.
PERSON_FIELDS = ("id", "password", "is_superuser", "username", "first_name", "last_name", "email", "is_active", *RIGHTS)
PERSON = f"SELECT {', '.join(PERSON_FIELDS)} FROM accounts_user WHERE id = %s"  # noqa: S608


class SessionStore(db.SessionStore):
    """A session in the database."""

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """What a session holds. Sessions change rarely, so each is unsigned and unpacked once."""
        return copy.deepcopy(_decode(session_data))

    def load(self) -> dict[str, Any]:
        """What the session holds; nothing, and no key, when it is unknown or over."""
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        with connection.cursor() as cursor:
            cursor.execute(SESSION, [self.session_key, now])
            row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row[0])


@lru_cache(maxsize=1000)
def _decode(session_data: bytes | str) -> dict[str, Any]:
    return db.SessionStore().decode(session_data)


class PersonBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """Signs people in as allauth does, and finds them again by one plain statement."""

    def get_user(self, user_id: int) -> User | None:
        """The person of that number, or ``None`` for one that is unknown or switched off. Rare columns are deferred."""
        with connection.cursor() as cursor:
            cursor.execute(PERSON, [user_id])
            row = cursor.fetchone()
        if row is None:
            return None
        values = dict(zip(PERSON_FIELDS, row, strict=True))
        values |= {name: bool(values[name]) for name in FLAGS}
        user = User.from_db(connection.alias, PERSON_FIELDS, list(values.values()))
        return user if self.user_can_authenticate(user) else None


class _LazyCookie(CookieStorage):
    """Messages in a cookie. Its signer is made where there is a message, and not in every request."""

    def __init__(self, request: HttpRequest) -> None:
        BaseStorage.__init__(self, request)

    @cached_property
    def signer(self) -> Signer:
        return get_cookie_signer(salt=self.key_salt)


class MessageStorage(FallbackStorage):
    """Messages in a cookie, and in the session what is too long for one: Django's own default."""

    storage_classes = (_LazyCookie, SessionStorage)
