from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.gender_cues import views

app_name = "gender_cues"

# /studies/<slug>/gender-cues/
urlpatterns = [
    path("studies/<slug:slug>/gender-cues/", views.show_home, name="home"),
    path("studies/<slug:slug>/gender-cues/purpose/", views.allow, name="purpose"),
    path("studies/<slug:slug>/gender-cues/purpose/withdraw/", views.withdraw, name="withdraw"),
    path("studies/<slug:slug>/gender-cues/load/", views.load, name="load"),
    path("studies/<slug:slug>/gender-cues/reviews/<int:set_id>/", views.show_reviews, name="reviews"),
    path("studies/<slug:slug>/gender-cues/launch/", views.launch, name="launch"),
    path("studies/<slug:slug>/gender-cues/themes.csv", views.download_themes, name="themes"),
    path("studies/<slug:slug>/gender-cues/batches/<int:batch_id>/", views.show_report, name="report"),
    path("studies/<slug:slug>/gender-cues/batches/<int:batch_id>/rationales/", views.store, name="rationales"),
    path(
        "studies/<slug:slug>/gender-cues/batches/<int:batch_id>/files/<slug:what>.<slug:format>",
        views.download,
        name="file",
    ),
]
