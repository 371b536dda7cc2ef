from __future__ import annotations

from django.urls import path

from auditapp.batches import views

app_name = "batches"

# /p/<slug>/batches/
urlpatterns = [
    path("p/<slug:slug>/batches/", views.list_batches, name="list"),
    path("p/<slug:slug>/batches/<int:batch_id>/", views.show_batch, name="detail"),
    path("p/<slug:slug>/batches/<int:batch_id>/control/", views.control_batch, name="control"),
    path("p/<slug:slug>/batches/<int:batch_id>/attempts/", views.list_attempts, name="attempts"),
    path("p/<slug:slug>/batches/<int:batch_id>/attempts/<int:attempt_id>/", views.show_attempt, name="attempt"),
]
