from __future__ import annotations

from django.urls import path

from transcripts.analysis.notebook import views

app_name = "notebook"

# /studies/<slug>/memos/
urlpatterns = [
    path("studies/<slug:slug>/memos/", views.list_memos, name="list"),
    path("studies/<slug:slug>/memos/new/", views.write, name="new"),
    path("studies/<slug:slug>/memos/<int:memo_id>/", views.show_memo, name="memo"),
    path("studies/<slug:slug>/memos/<int:memo_id>/revise/", views.revise, name="revise"),
    path("studies/<slug:slug>/memos/<int:memo_id>/withdraw/", views.withdraw, name="withdraw"),
]
