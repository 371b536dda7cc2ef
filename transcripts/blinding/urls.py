from __future__ import annotations

from django.urls import path

from transcripts.blinding import views

app_name = "blinding"

urlpatterns = [
    # /p/<slug>/unblind/
    path("p/<slug:slug>/unblind/", views.unblind, name="unblind"),
]
