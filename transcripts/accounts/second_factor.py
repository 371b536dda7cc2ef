"""Second factors as allauth has them: codes of an app (TOTP), and recovery codes. How they are kept, asked for and required."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.stages import LoginStage
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from transcripts.accounts import queries, sealing
from transcripts.accounts.models import User

PURPOSE = "second factor"
# What somebody may open who has to set one up, or use it, first.
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


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets are sealed in the database, and a second factor that the site requires stays on."""

    error_messages: ClassVar[dict[str, Any]] = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": "This code is wrong, or has already been used. The app shows a new one every thirty seconds.",
        "cannot_delete_authenticator": "This site requires a second factor of its owners.",
        "seal_broken": (
            "This site can no longer read your second factor, because its FIELD_KEY has changed. Ask the person who runs the "
            "server to put the former key back, or for: manage.py user remove-second-factor NAME."
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
        """Nothing: our page draws the code itself."""
        return ""


class AskSecondFactor(LoginStage):  # type: ignore[misc]
    """The step of signing in that asks for the second factor, whether somebody came by password or by link.

    allauth's own does the same, and loads libraries for security keys that take 20 MB.
    """

    key = "mfa_authenticate"
    urlname = "mfa_authenticate"

    def handle(self) -> tuple[HttpResponse | None, bool]:
        user: AbstractBaseUser | None = self.login.user
        if user is None or not queries.has_second_factor(user):
            return None, True
        return HttpResponseRedirect(reverse(self.urlname)), True


class RequireSecondFactor:
    """Leads a person who has to have a second factor to the page that sets it up, or asks for it, and nowhere else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """The way to the second factor, or ``None`` for a person who may go on."""
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
