"""allauth's pages for second factors, with our forms, responses and events. Loaded when one is opened, because this takes 20 MB."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms
from allauth.mfa.base import views as base
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from django.core.cache import cache
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from qrcode import QRCode

from transcripts.accounts import actions
from transcripts.accounts.queries import person_of
from transcripts.accounts.sealing import hash_secret

# Longer than a code is valid: for its own thirty seconds, and for the thirty seconds before and after.
MEMORY_SECONDS = 120


class _Page:
    """A form without placeholders, shown again with an error status if it is invalid."""

    request: Any

    def get_form(self, form_class: type[Form] | None = None) -> Form:
        form: Form = super().get_form(form_class)  # type: ignore[misc]
        return tidy_form(form)

    def form_invalid(self, form: Form) -> HttpResponse:
        page = self.get_context_data(form=form)  # type: ignore[attr-defined]
        return self.render_to_response(page, status=find_status(form))  # type: ignore[attr-defined, no-any-return]


def tidy_form(form: Form) -> Form:
    """Give a form labels instead of placeholders, and a numeric keyboard."""
    for name in form.fields.keys() & {"code"}:
        form.fields[name].label = "Code"
        form.fields[name].widget.attrs.pop("placeholder", None)
        form.fields[name].widget.attrs |= {"autofocus": True, "inputmode": "numeric"}
    return form


def find_status(form: Form) -> int:
    """429 after too many wrong codes, otherwise 422."""
    was_tried_too_often = any(
        error.code in {"too_many_login_attempts", "rate_limited"}
        for errors in form.errors.as_data().values()
        for error in errors
    )
    return HTTPStatus.TOO_MANY_REQUESTS if was_tried_too_often else HTTPStatus.UNPROCESSABLE_ENTITY


class _Once:
    """Accepts each code only once: allauth remembers a code for only thirty seconds, but codes may arrive half a minute late."""

    def clean_code(self) -> str:
        code: str = super().clean_code()  # type: ignore[misc]
        authenticator: Authenticator = self.authenticator  # type: ignore[attr-defined]
        is_new = _use_code(authenticator, code)
        if authenticator.type == Authenticator.Type.TOTP and not is_new:
            raise get_adapter().validation_error("incorrect_code")
        return code


def _use_code(authenticator: Authenticator, code: str) -> bool:
    """Record that a code was used; returns whether it was new."""
    digest = hash_secret(f"{authenticator.pk} {normalize_user_code(code)}")
    return bool(cache.add(f"used-code:{digest}", True, timeout=MEMORY_SECONDS))


class AuthenticateForm(_Once, forms.AuthenticateForm):  # type: ignore[misc]
    """The form for a code at sign-in."""


class ReauthenticateForm(_Once, forms.ReauthenticateForm):  # type: ignore[misc]
    """The form for a code at a later time."""


class Authenticate(base.AuthenticateView):  # type: ignore[misc]
    """The page that asks for a code after the password or a link."""

    form_class = AuthenticateForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Accept the code, or go back to the sign-in page."""
        answer: HttpResponse = (
            self.stage.abort() if "cancel" in request.POST else super().post(request, *args, **kwargs)
        )
        return answer

    def get_context_data(self, **rest: Any) -> dict[str, Any]:
        page: dict[str, Any] = super().get_context_data(**rest)
        tidy_form(page["form"])
        return page

    def form_invalid(self, form: Form) -> HttpResponse:
        actions.record_wrong_code(user=self.stage.login.user)
        return self.render_to_response(self.get_context_data(), status=find_status(form))  # type: ignore[no-any-return]


class Reauthenticate(_Page, base.ReauthenticateView):  # type: ignore[misc]
    """The page that asks for a code before something that cannot be undone."""

    form_class = ReauthenticateForm


class Activate(_Page, totp.ActivateTOTPView):  # type: ignore[misc]
    """Set up an app that makes codes."""

    def get_context_data(self, **rest: Any) -> dict[str, Any]:
        page: dict[str, Any] = super().get_context_data(**rest)
        secret = page["form"].secret
        return page | {
            "code": draw_code(page["totp_url"]),
            "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        }

    def form_valid(self, form: Form) -> HttpResponse:
        """End the other sessions, because they began without the second factor."""
        user = person_of(self.request)
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            # A person who saw the code being typed cannot sign in with it.
            _use_code(Authenticator.objects.get(user=user, type=Authenticator.Type.TOTP), form.cleaned_data["code"])
            actions.record_second_factor(user=user, change="added", by=user)
            actions.end_sessions(user=user, by=user, keep=self.request.session.session_key)
        record_authentication(self.request, user, "mfa", type=Authenticator.Type.TOTP, reauthenticated=True)
        return response


class Deactivate(_Page, totp.DeactivateTOTPView):  # type: ignore[misc]
    """Remove the second factor."""

    def form_valid(self, form: Form) -> HttpResponse:
        user = person_of(self.request)
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            actions.record_second_factor(user=user, change="removed", by=user)
        return response


class GenerateCodes(_Page, recovery_codes.GenerateRecoveryCodesView):  # type: ignore[misc]
    """Make new recovery codes, which replace the old ones."""

    def form_valid(self, form: Form) -> HttpResponse:
        user = person_of(self.request)
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            actions.record_second_factor(user=user, change="recovery_codes_made", by=user)
        return response


authenticate = Authenticate.as_view()
reauthenticate = Reauthenticate.as_view()
activate = Activate.as_view()
deactivate = Deactivate.as_view()
show_codes = recovery_codes.ViewRecoveryCodesView.as_view()
generate_codes = GenerateCodes.as_view()


def draw_code(text: str) -> dict[str, object]:
    """A QR code: its width in squares, and the dark squares as the path of an SVG."""
    code = QRCode(border=4)
    code.add_data(text)
    rows = code.get_matrix()
    dark = (f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark)
    return {"size": len(rows), "path": "".join(dark)}
