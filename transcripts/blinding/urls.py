from __future__ import annotations

from django.urls import path

from transcripts.blinding import views

app_name = "blinding"

urlpatterns = [
    # /studies/<slug>/unblind/
    path("studies/<slug:slug>/unblind/", views.unblind, name="unblind"),
    # /studies/<slug>/interviews/
    path("studies/<slug:slug>/interviews/unmask/", views.unmask, name="unmask"),
    path("studies/<slug:slug>/interviews/<int:interview_id>/condition/", views.show_condition, name="condition"),
]
