"""How allauth behaves here: nobody registers herself; attempts to sign in are counted, and each leaves an event."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from transcripts.accounts import actions, queries, second_factor
from transcripts.accounts.attempts import find_known_browser, remember_browser
from transcripts.accounts.models import User
from transcripts.accounts.views import came_by_link


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """People are added by ``manage.py user create`` or by a study's owner."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": "The name or the password is wrong.",
        "too_many_login_attempts": (
            "Too many wrong passwords or codes were typed for this name, or by all who share your internet address. Wait five "
            "minutes, then try again. If that does not help, use a browser in which you signed in before, or ask for a sign-in "
            "link."
        ),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str) -> bool:
        """Whether a page may lead there; never to what is no address at all, at which allauth's own question fails."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def is_ajax(self, request: HttpRequest) -> bool:
        """Programs use the API and its tokens; the sign-in form answers pages only."""
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse to look at a password once too many were wrong.

        Counted for the name and the address, and for the name over all addresses; apart from both for a browser in which the
        person signed in before, so that nobody keeps her out by typing wrong passwords for her name.
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
        # allauth gives it back after the right password.
        self._login_failed_rl_usage = taken

    def post_login(self, request: HttpRequest, user: User, **rest: Any) -> HttpResponse:
        """Where to go after signing in, in a browser that is known from now on."""
        response: HttpResponse = super().post_login(request, user, **rest)
        remember_browser(request, response, user)
        return response

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        super().login(request, user)
        if isinstance(user, User):
            actions.record_sign_in(
                user=user, by_link=came_by_link(request, user), second_factor=second_factor.was_used(request, user)
            )

    def get_login_stages(self) -> list[str]:
        """What comes between a password, or a link, and being signed in."""
        return ["transcripts.accounts.second_factor.AskSecondFactor"]

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        actions.record_failed_sign_in(username=str(credentials.get("username", "")))

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        page = {
            "status": 403,
            "title": "This account is closed",
            "message": "The name and password are correct, but the account is closed. Ask the administrator of this site.",
        }
        return render(request, "error.html", page, status=403)
