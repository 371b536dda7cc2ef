from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.gender_cues.views import pages, reports

app_name = "gender_cues"

# /p/<slug>/probe/
urlpatterns = [
    path("p/<slug:slug>/probe/", pages.show_home, name="home"),
    path("p/<slug:slug>/probe/purpose/", pages.allow, name="purpose"),
    path("p/<slug:slug>/probe/purpose/withdraw/", pages.withdraw, name="withdraw"),
    path("p/<slug:slug>/probe/load/", pages.load, name="load"),
    path("p/<slug:slug>/probe/reviews/<int:set_id>/", pages.show_reviews, name="reviews"),
    path("p/<slug:slug>/probe/launch/", pages.launch, name="launch"),
    path("p/<slug:slug>/probe/themes.csv", reports.download_themes, name="themes"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/", reports.show_report, name="report"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/rationales/", reports.store, name="rationales"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/files/<slug:what>.<slug:format>", reports.download, name="file"),
]
