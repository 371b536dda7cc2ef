from __future__ import annotations

from django.urls import include, path

from transcripts.coding import views

app_name = "coding"

interview_urls = [
    # /p/<slug>/interviews/<interview_id>/
    path("", views.show_desk, name="desk"),
    path("add/", views.add, name="add"),
    path("withdraw/", views.withdraw, name="withdraw"),
    path("decide/", views.decide, name="decide"),
    path("reopen/", views.reopen, name="reopen"),
    path("memo/", views.memo, name="memo"),
    path("marks/<int:sentence_id>/", views.show_marks, name="marks"),
]

urlpatterns = [path("p/<slug:slug>/interviews/<int:interview_id>/", include(interview_urls))]
