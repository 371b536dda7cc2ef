from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.gender_cues import views

app_name = "gender_cues"

# /p/<slug>/probe/
urlpatterns = [
    path("p/<slug:slug>/probe/", views.show_home, name="home"),
    path("p/<slug:slug>/probe/purpose/", views.allow, name="purpose"),
    path("p/<slug:slug>/probe/purpose/withdraw/", views.withdraw, name="withdraw"),
    path("p/<slug:slug>/probe/load/", views.load, name="load"),
    path("p/<slug:slug>/probe/reviews/<int:set_id>/", views.show_reviews, name="reviews"),
    path("p/<slug:slug>/probe/launch/", views.launch, name="launch"),
    path("p/<slug:slug>/probe/themes.csv", views.download_themes, name="themes"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/", views.show_report, name="report"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/rationales/", views.store, name="rationales"),
    path("p/<slug:slug>/probe/batches/<int:batch_id>/files/<slug:what>.<slug:format>", views.download, name="file"),
]
