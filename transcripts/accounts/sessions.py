"""Sessions, their people and their messages, read for every page.

A session ends after SESSION_IDLE_HOURS without use, and SESSION_DAYS after its person signed in.

Django's own classes do the same with QuerySets, which take five times as long to build as the database needs to answer. That is a
fifth of the time it takes to save a code (perf/saves.py). Writing and everything rare is left to Django's classes.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.messages.storage.base import BaseStorage
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.contrib.sessions.backends import db
from django.core.signing import Signer, get_cookie_signer
from django.db import OperationalError, connection
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from transcripts.accounts.models import Session, User

SESSION = """
SELECT session_data, last_used_at < %s FROM accounts_session
WHERE session_key = %s AND expire_date > %s AND last_used_at > %s
"""
USED = "UPDATE accounts_session SET last_used_at = %s WHERE session_key = %s AND last_used_at < %s"
# By how much the time of the last use may be out of date, so that not every request writes to the database.
LATENESS = datetime.timedelta(minutes=5)
BEGAN, DEVICE = "began_at", "device"
RIGHTS = ("may_start_studies", "may_invite")
FLAGS = ("is_superuser", "is_active", *RIGHTS)
# In the order of the model's fields.
PERSON_FIELDS = (
    *("id", "password", "is_superuser", "username", "first_name", "last_name", "email", "is_active", *RIGHTS),
    "known_pages",
)
PERSON = f"SELECT {', '.join(PERSON_FIELDS)} FROM accounts_user WHERE id = %s"  # noqa: S608
UNKNOWN_BROWSER = "an unknown browser"
# The order matters, because a browser also names the browsers with which it claims to be compatible.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
)


class SessionStore(db.SessionStore):
    """A session in the database."""

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """The content of a session. Sessions change rarely, so each is verified and decoded only once."""
        return copy.deepcopy(_decode(session_data))

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        """The content of the session. If it is unknown or has ended, the content is empty and the session has no key."""
        now = timezone.now()
        at, late, idle = map(connection.ops.adapt_datetimefield_value, (now, now - LATENESS, now - find_idle_limit()))
        with connection.cursor() as cursor:
            cursor.execute(SESSION, [late, self.session_key, at, idle])
            row = cursor.fetchone()
            if row is None:
                self._session_key = None
                return {}
            if row[1]:
                with without_waiting():
                    cursor.execute(USED, [at, self.session_key, late])
        return self.decode(row[0])

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """The row that stores the session in its current state."""
        now = timezone.now()
        began = data.setdefault(BEGAN, now.timestamp())
        return Session(
            session_key=self._get_or_create_session_key(),  # type: ignore[attr-defined]
            session_data=self.encode(data),
            expire_date=self.get_expiry_date(),
            user_id=data.get(SESSION_KEY),
            device=data.get(DEVICE, ""),
            began_at=datetime.datetime.fromtimestamp(began, tz=datetime.UTC),
            last_used_at=now,
        )

    def get_expiry_age(self, **_: Any) -> int:
        """The number of seconds for which the session can still be used; storing it again does not extend this."""
        now = timezone.now().timestamp()
        return max(0, int(self.get(BEGAN, now) + settings.SESSION_COOKIE_AGE - now))

    def get_expiry_date(self, **_: Any) -> datetime.datetime:
        """When the session ends."""
        return timezone.now() + datetime.timedelta(seconds=self.get_expiry_age())

    @classmethod
    def clear_expired(cls) -> None:
        """Delete ended sessions."""
        now = timezone.now()
        Session.objects.filter(Q(expire_date__lt=now) | Q(last_used_at__lt=now - find_idle_limit())).delete()


@contextlib.contextmanager
def without_waiting() -> Iterator[None]:
    """For minor writes during a request, which are skipped if SQLite is busy with other writes or cannot write.

    Otherwise SQLite, and with it the page, would wait for twenty seconds.
    """
    waits = connection.vendor == "sqlite" and not connection.in_atomic_block
    with contextlib.suppress(OperationalError), connection.cursor() as cursor:
        if waits:
            cursor.execute("PRAGMA busy_timeout")
            (usual,) = cursor.fetchone()
            cursor.execute("PRAGMA busy_timeout = 100")
        try:
            yield
        finally:
            if waits:
                cursor.execute(f"PRAGMA busy_timeout = {usual}")


def find_idle_limit() -> datetime.timedelta:
    """How long a session may be unused before it ends."""
    return datetime.timedelta(hours=settings.SESSION_IDLE_HOURS)


def begin_session(*, request: HttpRequest) -> None:
    """Store when and in which browser a person signed in. Called at sign-in."""
    request.session[BEGAN] = timezone.now().timestamp()
    request.session[DEVICE] = name_device(request.headers.get("User-Agent", ""))


@lru_cache(maxsize=1000)
def _decode(session_data: bytes | str) -> dict[str, Any]:
    return db.SessionStore().decode(session_data)


class PersonBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """Signs people in as allauth does, but loads them with a plain SQL statement."""

    def get_user(self, user_id: int) -> User | None:
        """The person with this id, or ``None`` if she is unknown or not active. Rarely used columns are deferred."""
        with connection.cursor() as cursor:
            cursor.execute(PERSON, [user_id])
            row = cursor.fetchone()
        if row is None:
            return None
        values = dict(zip(PERSON_FIELDS, row, strict=True))
        values |= {name: bool(values[name]) for name in FLAGS}
        values["known_pages"] = _read_list(values["known_pages"])
        user = User.from_db(connection.alias, PERSON_FIELDS, list(values.values()))
        return user if self.user_can_authenticate(user) else None


def _read_list(stored: object) -> list[str]:
    """A list, which some databases return as text."""
    read = json.loads(stored) if isinstance(stored, str) else stored
    return read if isinstance(read, list) else []


class _LazyCookie(CookieStorage):
    """Messages in a cookie. Its signer is made only if there is a message, not in every request."""

    def __init__(self, request: HttpRequest) -> None:
        BaseStorage.__init__(self, request)

    @cached_property
    def signer(self) -> Signer:
        return get_cookie_signer(salt=self.key_salt)


class MessageStorage(FallbackStorage):
    """Messages in a cookie or, if they are too long, in the session: Django's default."""

    storage_classes = (_LazyCookie, SessionStorage)


def name_device(user_agent: str) -> str:
    """The browser and the operating system that a User-Agent header names, such as "Firefox on Windows".

    Unknown values are not repeated, because anybody can send any header.
    """
    browser = next((name for mark, name in BROWSERS if mark in user_agent), UNKNOWN_BROWSER)
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser
