from __future__ import annotations

from allauth.account.views import logout
from django.urls import include, path

from transcripts.accounts import views

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
    path("account/close/", views.close_account, name="close"),
    path("account/sessions/", views.list_sessions, name="sessions"),
    path("account/sessions/end-others/", views.end_other_sessions, name="end_other_sessions"),
    path("account/sessions/<str:reference>/end/", views.end_session, name="end_session"),
    path("account/tokens/", views.create_token, name="create_token"),
    path("account/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]

# Of allauth's pages only these exist, under the names that allauth and Django look up. There is no sign-up, no e-mail.
urlpatterns = [
    path("accounts/login/", views.SignIn.as_view(), name="account_login"),
    path("accounts/logout/", logout, name="account_logout"),
    path("account/confirm/", views.Reauthenticate.as_view(), name="account_reauthenticate"),
    path("account/password/", views.set_password, name="account_change_password"),
    path("", include((account_pages, "accounts"))),
]
