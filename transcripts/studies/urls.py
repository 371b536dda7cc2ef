from __future__ import annotations

from django.urls import path

from transcripts.studies import views

app_name = "studies"

urlpatterns = [
    path("", views.list_studies, name="list"),
    path("land/", views.land, name="land"),
    path("invitations/<int:invitation_id>/answer/", views.answer_invitation, name="answer_invitation"),
    # /p/<slug>/
    path("p/<slug:slug>/", views.home, name="home"),
    path("p/<slug:slug>/steps/", views.skip_step, name="skip_step"),
    path("p/<slug:slug>/history/", views.history, name="history"),
    # /p/<slug>/method/
    path("p/<slug:slug>/method/", views.show_method, name="method"),
    path("p/<slug:slug>/method/set/", views.set_stance, name="set_stance"),
    # /p/<slug>/members/
    path("p/<slug:slug>/members/", views.list_members, name="members"),
    path("p/<slug:slug>/members/add/", views.add_member, name="add_member"),
    path(
        "p/<slug:slug>/members/invitations/<int:invitation_id>/withdraw/",
        views.withdraw_invitation,
        name="withdraw_invitation",
    ),
    path("p/<slug:slug>/members/<int:user_id>/role/", views.change_role, name="change_role"),
    path("p/<slug:slug>/members/<int:user_id>/remove/", views.remove_member, name="remove_member"),
    path("p/<slug:slug>/members/<int:user_id>/link/", views.renew_link, name="renew_link"),
    path("p/<slug:slug>/members/<int:user_id>/link/revoke/", views.revoke_link, name="revoke_link"),
]
