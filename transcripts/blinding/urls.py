from __future__ import annotations

from django.urls import path

from transcripts.blinding import views

app_name = "blinding"

urlpatterns = [
    # /p/<slug>/unblind/
    path("p/<slug:slug>/unblind/", views.unblind, name="unblind"),
    # /p/<slug>/interviews/
    path("p/<slug:slug>/interviews/unmask/", views.unmask, name="unmask"),
    path("p/<slug:slug>/interviews/<int:interview_id>/condition/", views.show_condition, name="condition"),
]
