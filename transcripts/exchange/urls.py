from __future__ import annotations

from django.urls import path

from transcripts.exchange import views

app_name = "exchange"

urlpatterns = [
    # /p/<slug>/exports/
    path("p/<slug:slug>/exports/", views.list_downloads, name="exports"),
    path("p/<slug:slug>/exports/import/", views.import_study, name="import"),
    path("p/<slug:slug>/exports/methods/", views.show_methods, name="methods"),
    path("p/<slug:slug>/exports/<slug:what>.<slug:format>", views.download, name="download"),
    # /p/<slug>/charts/
    path("p/<slug:slug>/charts/", views.download_chart, name="chart"),
]
