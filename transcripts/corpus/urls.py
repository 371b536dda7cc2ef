from __future__ import annotations

from django.urls import path

from transcripts.corpus import views

app_name = "corpus"

urlpatterns = [
    # /p/<slug>/interviews/
    path("p/<slug:slug>/interviews/", views.list_interviews, name="interviews"),
    path("p/<slug:slug>/interviews/import/", views.import_interviews, name="import"),
]
