from __future__ import annotations

from django.urls import path

from auditapp.preannotation import views

app_name = "preannotation"

urlpatterns = [
    path("p/<slug:slug>/preannotation/launch/", views.launch, name="launch"),
    path("p/<slug:slug>/sentences/<int:sentence_id>/suggestions/", views.show_panel, name="panel"),
    path("p/<slug:slug>/suggestions/<int:suggestion_id>/respond/", views.respond, name="respond"),
]
