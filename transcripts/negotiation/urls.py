from __future__ import annotations

from django.urls import URLPattern, path

from transcripts.negotiation.views import cases, pairs

app_name = "negotiation"

urlpatterns: list[URLPattern] = [
    # /p/<slug>/interviews/<interview_id>/
    path("p/<slug:slug>/interviews/<int:interview_id>/case-sheet/", cases.show_case_sheet, name="case_sheet"),
    # /p/<slug>/negotiation/
    path("p/<slug:slug>/negotiation/pairs/", pairs.show_pairs, name="pairs"),
    path("p/<slug:slug>/negotiation/pairs/<str:pair_name>/", pairs.show_pair, name="pair"),
    path("p/<slug:slug>/negotiation/pairs/<str:pair_name>/withdraw/", pairs.withdraw_pair, name="withdraw_pair"),
]
