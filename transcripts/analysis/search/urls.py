from __future__ import annotations

from django.urls import path

from transcripts.analysis.search import views

app_name = "search"

urlpatterns = [
    # /p/<slug>/search/
    path("p/<slug:slug>/search/", views.search, name="search"),
    # /p/<slug>/codings/
    path("p/<slug:slug>/codings/interviews/", views.by_interview, name="by_interview"),
    path("p/<slug:slug>/codings/models/", views.by_model, name="by_model"),
    path("p/<slug:slug>/codings/answers/", views.by_answer, name="by_answer"),
    path("p/<slug:slug>/codings/together/", views.cooccurrence, name="cooccurrence"),
    path("p/<slug:slug>/codings/turns/", views.score_sheets, name="score_sheets"),
    path("p/<slug:slug>/codings/turns/<int:interview_id>/", views.score_sheet, name="score_sheet"),
]
