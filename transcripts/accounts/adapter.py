"""How allauth behaves here: nobody registers herself, and every try to sign in leaves an event."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from transcripts.accounts import actions
from transcripts.accounts.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """People are added by ``manage.py create_user`` or by a study's owner."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": "The name or the password is wrong.",
        "too_many_login_attempts": "Too many wrong passwords. Wait five minutes, then try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_ajax(self, request: HttpRequest) -> bool:
        """Programs use the API and its tokens; the sign-in form answers pages only."""
        return False

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        super().login(request, user)
        if isinstance(user, User):
            actions.record_sign_in(user=user)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        actions.record_failed_sign_in(username=str(credentials.get("username", "")))

    def respond_user_inactive(self, request: HttpRequest, user: AbstractBaseUser) -> HttpResponse:
        page = {
            "status": 403,
            "title": "This account is closed",
            "message": "The name and password are correct, but the account is closed. Ask the administrator of this site.",
        }
        return render(request, "error.html", page, status=403)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # allauth counts per name and host; a host header with another port would start a new count.
        return str(credentials.get("username", "")).strip().lower()
