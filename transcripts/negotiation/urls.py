from __future__ import annotations

from django.urls import include, path

from transcripts.negotiation.views import cases, scores, threads

app_name = "negotiation"

interview_urls = [
    # /studies/<slug>/interviews/<interview_id>/
    path("case-sheet/", cases.show_case_sheet, name="case_sheet"),
    path("negotiation/", threads.show_thread, name="thread"),
    path("scores/", scores.show_thread, name="thread_scores"),
    path("scores/put/", scores.put, name="put_score"),
    path("scores/withdraw/", scores.withdraw, name="withdraw_score"),
    path("scores/at-desk/", cases.show_own, name="own_scores"),
    path("scores/at-desk/put/", cases.put_at_desk, name="put_at_desk"),
    path("scores/at-desk/withdraw/", cases.withdraw_at_desk, name="withdraw_at_desk"),
]

urlpatterns = [
    path("studies/<slug:slug>/interviews/<int:interview_id>/", include(interview_urls)),
    # /studies/<slug>/negotiation/
    path("studies/<slug:slug>/negotiation/", threads.show_study, name="study"),
    path("studies/<slug:slug>/negotiation/turns/", threads.list_behind, name="behind"),
    path("studies/<slug:slug>/negotiation/download/", threads.download, name="download"),
    path("studies/<slug:slug>/negotiation/pairs/", cases.show_pairs, name="pairs"),
    path("studies/<slug:slug>/negotiation/pairs/<str:pair_name>/", cases.show_pair, name="pair"),
    path("studies/<slug:slug>/negotiation/pairs/<str:pair_name>/withdraw/", cases.withdraw_pair, name="withdraw_pair"),
    path("studies/<slug:slug>/negotiation/stances/", cases.show_stances, name="stances"),
    path("studies/<slug:slug>/negotiation/stances/new/", cases.write_new, name="new_stance"),
    path("studies/<slug:slug>/negotiation/stances/<int:stance_id>/next/", cases.write_next, name="next_stance"),
    path("studies/<slug:slug>/negotiation/scores/", scores.show_scores, name="scores"),
]
