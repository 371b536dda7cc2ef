from __future__ import annotations

from django.urls import path

from transcripts.exchange import views

app_name = "exchange"

urlpatterns = [
    # /studies/<slug>/exports/
    path("studies/<slug:slug>/exports/", views.list_downloads, name="exports"),
    path("studies/<slug:slug>/exports/import/", views.import_study, name="import"),
    path("studies/<slug:slug>/exports/methods/", views.show_methods, name="methods"),
    path("studies/<slug:slug>/exports/<slug:what>.<slug:format>", views.download, name="download"),
    # /studies/<slug>/charts/
    path("studies/<slug:slug>/charts/", views.download_chart, name="chart"),
]
