from __future__ import annotations

from django.urls import path

from transcripts.exchange import views

app_name = "exchange"

# /p/<slug>/exports/
urlpatterns = [
    path("p/<slug:slug>/exports/", views.list_downloads, name="exports"),
    path("p/<slug:slug>/exports/<slug:what>.<slug:format>", views.download, name="download"),
]
