from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import include, path

from transcripts.accounts import views


def load_late(name: str) -> Callable[..., HttpResponseBase]:
    """A page for second factors, which is loaded only when somebody opens it."""

    def show(request: HttpRequest, **kwargs: object) -> HttpResponseBase:
        views = import_module("transcripts.accounts.second_factor_views")
        response: HttpResponseBase = getattr(views, name)(request, **kwargs)
        return response

    return show


account_pages = [
    path("sign-in/<str:secret>/", views.use_link, name="use_link"),
    # /people/
    path("people/", views.list_people, name="people"),
    path("people/<int:user_id>/", views.show_person, name="person"),
    path("people/<int:user_id>/end-sessions/", views.end_sessions_of, name="end_sessions_of"),
    path("people/<int:user_id>/revoke-tokens/", views.revoke_tokens_of, name="revoke_tokens_of"),
    path("people/<int:user_id>/close/", views.close_account_of, name="close_account_of"),
    path("people/<int:user_id>/reopen/", views.reopen_account, name="reopen_account"),
    path("people/<int:user_id>/rights/", views.set_rights, name="set_rights"),
    # /account/
    path("account/", views.me, name="me"),
    path("account/introductions/dismiss/", views.dismiss_introduction, name="dismiss_introduction"),
    path("account/close/", views.close_account, name="close"),
    path("account/sessions/", views.list_sessions, name="sessions"),
    path("account/sessions/end-others/", views.end_other_sessions, name="end_other_sessions"),
    path("account/sessions/<str:reference>/end/", views.end_session, name="end_session"),
    path("account/tokens/", views.create_token, name="create_token"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]

# The only pages of allauth, under the names that allauth and Django look up. There is no sign-up and no e-mail.
urlpatterns = [
    path("accounts/login/", views.SignIn.as_view(), name="account_login"),
    path("accounts/logout/", views.SignOut.as_view(), name="account_logout"),
    path("account/confirm/", views.Reauthenticate.as_view(), name="account_reauthenticate"),
    path("account/password/", views.set_password, name="account_change_password"),
    path("accounts/login/second-factor/", login_not_required(load_late("authenticate")), name="mfa_authenticate"),
    path("account/second-factor/", views.show_second_factor, name="mfa_index"),
    path("account/second-factor/confirm/", load_late("reauthenticate"), name="mfa_reauthenticate"),
    path("account/second-factor/set-up/", load_late("activate"), name="mfa_activate_totp"),
    path("account/second-factor/remove/", load_late("deactivate"), name="mfa_deactivate_totp"),
    path("account/second-factor/codes/", load_late("show_codes"), name="mfa_view_recovery_codes"),
    path("account/second-factor/codes/new/", load_late("generate_codes"), name="mfa_generate_recovery_codes"),
    path("", include((account_pages, "accounts"))),
]
