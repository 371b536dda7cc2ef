from __future__ import annotations

from django.urls import path

from transcripts.rounds import views

app_name = "rounds"

urlpatterns = [
    # /studies/<slug>/my-work/
    path("studies/<slug:slug>/my-work/", views.show_own_work, name="work"),
    path(
        "studies/<slug:slug>/my-work/<int:interview_id>/complete/", views.complete_unassigned, name="complete_interview"
    ),
    path("studies/<slug:slug>/my-work/<int:interview_id>/take-back/", views.take_back, name="reopen_interview"),
    # /studies/<slug>/progress/
    path("studies/<slug:slug>/progress/", views.show_all_work, name="all_work"),
    # /studies/<slug>/rounds/
    path("studies/<slug:slug>/rounds/", views.list_rounds, name="list"),
    path("studies/<slug:slug>/rounds/new/", views.make_round, name="new"),
    # /studies/<slug>/rounds/<number>/
    path("studies/<slug:slug>/rounds/<int:number>/", views.show_round, name="detail"),
    path("studies/<slug:slug>/rounds/<int:number>/assignments/", views.change_assignments, name="assignments"),
    path("studies/<slug:slug>/rounds/<int:number>/lock/", views.lock, name="lock"),
    path("studies/<slug:slug>/rounds/<int:number>/complete/", views.complete_several, name="complete_several"),
    path(
        "studies/<slug:slug>/rounds/<int:number>/complete/<int:interview_id>/",
        views.complete_assignment,
        name="complete_assignment",
    ),
]
