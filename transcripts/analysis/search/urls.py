from __future__ import annotations

from django.urls import path

from transcripts.analysis.search import views

app_name = "search"

urlpatterns = [
    # /studies/<slug>/search/
    path("studies/<slug:slug>/search/", views.search, name="search"),
    # /studies/<slug>/codings/
    path("studies/<slug:slug>/codings/interviews/", views.by_interview, name="by_interview"),
    path("studies/<slug:slug>/codings/models/", views.by_model, name="by_model"),
    path("studies/<slug:slug>/codings/answers/", views.by_answer, name="by_answer"),
    path("studies/<slug:slug>/codings/co-occurrence/", views.cooccurrence, name="cooccurrence"),
    path("studies/<slug:slug>/codings/turns/", views.score_sheets, name="score_sheets"),
    path("studies/<slug:slug>/codings/turns/<int:interview_id>/", views.score_sheet, name="score_sheet"),
]
