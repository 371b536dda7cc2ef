from __future__ import annotations

from django.urls import path

from transcripts.studies import views

app_name = "studies"

urlpatterns = [
    path("", views.list_studies, name="list"),
    path("land/", views.land, name="land"),
    path("invitations/<int:invitation_id>/answer/", views.answer_invitation, name="answer_invitation"),
    # /studies/<slug>/
    path("studies/<slug:slug>/", views.home, name="home"),
    path("studies/<slug:slug>/steps/", views.skip_step, name="skip_step"),
    path("studies/<slug:slug>/history/", views.history, name="history"),
    # /studies/<slug>/method/
    path("studies/<slug:slug>/method/", views.show_method, name="method"),
    path("studies/<slug:slug>/method/set/", views.set_method, name="set_method"),
    # /studies/<slug>/members/
    path("studies/<slug:slug>/members/", views.list_members, name="members"),
    path("studies/<slug:slug>/members/add/", views.add_member, name="add_member"),
    path(
        "studies/<slug:slug>/members/invitations/<int:invitation_id>/withdraw/",
        views.withdraw_invitation,
        name="withdraw_invitation",
    ),
    path("studies/<slug:slug>/members/<int:user_id>/role/", views.change_role, name="change_role"),
    path("studies/<slug:slug>/members/<int:user_id>/remove/", views.remove_member, name="remove_member"),
    path("studies/<slug:slug>/members/<int:user_id>/link/", views.renew_link, name="renew_link"),
    path("studies/<slug:slug>/members/<int:user_id>/link/revoke/", views.revoke_link, name="revoke_link"),
]
