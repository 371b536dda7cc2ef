from __future__ import annotations

from django.urls import include, path

from transcripts.desk import pages, views

app_name = "desk"

interview_urls = [
    # /studies/<slug>/interviews/<interview_id>/
    path("", views.show_desk, name="desk"),
    path("add/", views.add, name="add"),
    path("withdraw/", views.withdraw, name="withdraw"),
    path("link/", views.link, name="link"),
    path("unlink/", views.unlink, name="unlink"),
    path("decide/", views.decide, name="decide"),
    path("reopen/", views.reopen, name="reopen"),
    path("memo/", views.memo, name="memo"),
    path("open/", views.open_reasoning, name="open"),
    path("codings/<slug:idempotency_key>/", views.show_details, name="details"),
    path("split/", views.split, name="split"),
    path("merge/", views.merge, name="merge"),
    path("boundary-edits/", views.show_boundary_edits, name="boundary_edits"),
    path("marks/<int:sentence_id>/", views.show_marks, name="marks"),
    path("beside/<int:other_id>/", pages.show_beside, name="beside"),
]

urlpatterns = [
    path("studies/<slug:slug>/interviews/<int:interview_id>/", include(interview_urls)),
    # /studies/<slug>/
    path("studies/<slug:slug>/next/", pages.go_to_next, name="next"),
    path("studies/<slug:slug>/my-history/", pages.show_history, name="history"),
    path("studies/<slug:slug>/shortcuts/", pages.change_keys, name="keys"),
    path("studies/<slug:slug>/shortcuts/card/", pages.show_keycard, name="keycard"),
]
