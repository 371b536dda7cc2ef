"""The configuration of allauth. People cannot register themselves; attempts to sign in are counted, and each one is recorded.

Second factors are codes from an app (TOTP) and recovery codes. This module stores them, asks for them, and can require them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.stages import LoginStage
from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from transcripts.accounts import actions, queries, sealing
from transcripts.accounts.actions import SIGN_IN_LINK_LIFE
from transcripts.accounts.models import User
from transcripts.accounts.passwords import find_known_browser, remember_browser

CAME_BY_LINK = "came_by_link_at"
# The same time as the life of a link.
CAME_BY_LINK_SECONDS = SIGN_IN_LINK_LIFE.total_seconds()
PURPOSE = "second factor"
# Pages that a person may open before she has set up or used a required second factor.
OPEN_BEFORE = frozenset(
    {
        "account_logout",
        "account_reauthenticate",
        "help",
        "livez",
        "mfa_activate_totp",
        "mfa_reauthenticate",
        "mfa_view_recovery_codes",
        "readyz",
    }
)


def is_required(user: User) -> bool:
    """Whether this site requires a second factor of ``user``."""
    return settings.REQUIRE_SECOND_FACTOR == "owners" and user.is_superuser


def was_used(request: HttpRequest, user: User) -> bool:
    """Whether the second factor was used in this session."""
    return any(record.get("method") == "mfa" for record in get_authentication_records(request, user))


def note_link(request: HttpRequest, user: User) -> None:
    """Store in the session that ``user`` signed in by a link."""
    request.session[CAME_BY_LINK] = [user.pk, time.time()]


def forget_link(request: HttpRequest) -> None:
    """Remove the mark that a person signed in by a link, because it counts only once."""
    request.session.pop(CAME_BY_LINK, None)


def came_by_link(request: HttpRequest, user: User) -> bool:
    """Whether ``user`` signed in by a link within the last half hour."""
    noted = request.session.get(CAME_BY_LINK)
    return isinstance(noted, list) and noted[0] == user.pk and time.time() - noted[1] < CAME_BY_LINK_SECONDS


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Encrypts secrets in the database, and prevents the removal of a required second factor."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": "This code is wrong, or has already been used. The app shows a new one every thirty seconds.",
        "cannot_delete_authenticator": "This site requires a second factor of its owners.",
        "seal_broken": (
            "This site can no longer read your second factor, because its FIELD_KEY has changed. Ask the person who runs the "
            "server to restore the former key, or to run: manage.py user remove-second-factor NAME."
        ),
    }

    def encrypt(self, text: str) -> str:
        return sealing.seal({"for": PURPOSE, "secret": text})

    def decrypt(self, encrypted_text: str) -> str:
        try:
            content = sealing.open_seal(encrypted_text)
        except sealing.SealBroken:
            raise self.validation_error("seal_broken") from None
        if content.get("for") != PURPOSE:
            raise self.validation_error("seal_broken")
        return content["secret"]

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        return not is_required(authenticator.user)

    def build_totp_svg(self, url: str) -> str:
        """Return nothing, because our own page draws the QR code."""
        return ""


class AskSecondFactor(LoginStage):  # type: ignore[misc]
    """The sign-in step that asks for the second factor, after a password or a link.

    allauth's own step does the same, but loads libraries for security keys that take 20 MB.
    """

    key = "mfa_authenticate"
    urlname = "mfa_authenticate"

    def handle(self) -> tuple[HttpResponse | None, bool]:
        user: AbstractBaseUser | None = self.login.user
        if user is None or not queries.has_second_factor(user):
            return None, True
        return HttpResponseRedirect(reverse(self.urlname)), True


class RequireSecondFactor:
    """Redirects a person who must have a second factor to the page that sets it up or asks for it, until she has done that."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """The redirect to the second factor, or ``None`` for a person who may continue."""
        if (
            settings.REQUIRE_SECOND_FACTOR == "no"
            or not isinstance(request.user, User)
            or not is_required(request.user)
        ):
            return None
        match = request.resolver_match
        if (match and match.view_name in OPEN_BEFORE) or was_used(request, request.user):
            return None
        if queries.has_second_factor(request.user):
            return redirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': reverse('studies:list')})}")
        return redirect("mfa_activate_totp")


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """People are added by ``manage.py user create`` or by a study's owner."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": "The name or the password is wrong.",
        "too_many_login_attempts": (
            "Too many wrong passwords or codes were entered for this name, or from your internet address. Wait five "
            "minutes, then try again. If that does not help, use a browser in which you signed in before, or ask for a sign-in "
            "link."
        ),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str) -> bool:
        """Whether a page may redirect to this address; false for an invalid address, for which allauth's own check would fail."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def is_ajax(self, request: HttpRequest) -> bool:
        """Always false: programs use the API and its tokens, and the sign-in form only answers with pages."""
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse to check a password after too many wrong ones.

        Attempts are counted for each name and address, and for each name over all addresses. A browser in which the person signed
        in before is counted separately, so that nobody can lock her out by typing wrong passwords for her name.
        """
        name = str(credentials.get("username", "")).strip().lower()
        known = find_known_browser(request, queries.find_user(name))
        limits = (
            [("login_failed_known", known)]
            if known
            else [("login_failed", f"{name} {self.get_client_ip(request)}"), ("login_failed_anywhere", name)]
        )
        taken = RateLimitUsage(usage=[])
        for action, key in limits:
            usage = ratelimit.consume(request, app="allauth.account", action=action, key=key)
            if usage is None:
                raise self.validation_error("too_many_login_attempts")
            taken.usage.extend(usage.usage)
        # After the right password, allauth removes this attempt from the count.
        self._login_failed_rl_usage = taken

    def post_login(self, request: HttpRequest, user: User, **rest: Any) -> HttpResponse:
        """Mark the browser as known, and return the response that opens the page after signing in."""
        response: HttpResponse = super().post_login(request, user, **rest)
        remember_browser(request, response, user)
        return response

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        super().login(request, user)
        if isinstance(user, User):
            actions.record_sign_in(
                user=user, by_link=came_by_link(request, user), second_factor=was_used(request, user)
            )

    def get_login_stages(self) -> list[str]:
        """The steps between a password, or a link, and being signed in."""
        return ["transcripts.accounts.adapter.AskSecondFactor"]

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        actions.record_failed_sign_in(username=str(credentials.get("username", "")))

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        page = {
            "status": 403,
            "title": "This account is closed",
            "message": "The name and password are correct, but the account is closed. Ask the administrator of this site.",
        }
        return render(request, "error.html", page, status=403)
