from __future__ import annotations

from django.urls import path

from transcripts.rounds import views

app_name = "rounds"

urlpatterns = [
    # /p/<slug>/work/
    path("p/<slug:slug>/work/", views.show_own_work, name="work"),
    path("p/<slug:slug>/work/<int:interview_id>/finish/", views.finish, name="finish"),
    path("p/<slug:slug>/work/<int:interview_id>/take-back/", views.take_back, name="take_back_finish"),
    # /p/<slug>/progress/
    path("p/<slug:slug>/progress/", views.show_all_work, name="all_work"),
    # /p/<slug>/rounds/
    path("p/<slug:slug>/rounds/", views.list_rounds, name="list"),
    path("p/<slug:slug>/rounds/new/", views.make_round, name="new"),
    # /p/<slug>/rounds/<number>/
    path("p/<slug:slug>/rounds/<int:number>/", views.show_round, name="detail"),
    path("p/<slug:slug>/rounds/<int:number>/assignments/", views.change_assignments, name="assignments"),
    path("p/<slug:slug>/rounds/<int:number>/lock/", views.lock, name="lock"),
    path("p/<slug:slug>/rounds/<int:number>/sign-off/", views.sign_off_several, name="sign_off_several"),
    path("p/<slug:slug>/rounds/<int:number>/sign-off/<int:interview_id>/", views.sign_off, name="sign_off"),
]
