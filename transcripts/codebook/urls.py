from __future__ import annotations

from django.urls import path

from transcripts.codebook import views

app_name = "codebook"

urlpatterns = [
    path("studies/new/", views.start_study, name="start_study"),
    # /p/<slug>/codebook/
    path("p/<slug:slug>/codebook/", views.show_current, name="current"),
    path("p/<slug:slug>/codebook/import/", views.import_file, name="import"),
    path("p/<slug:slug>/codebook/v<int:number>/", views.show_version, name="version"),
    path("p/<slug:slug>/codebook/v<int:number>/publish/", views.publish, name="publish"),
]
