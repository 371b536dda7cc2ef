from __future__ import annotations

from django.urls import path

from auditapp.sob import views

app_name = "sob"

# /p/<slug>/sob/
urlpatterns = [
    path("p/<slug:slug>/sob/", views.show_dashboard, name="dashboard"),
    path("p/<slug:slug>/sob/datasets/load/", views.load_dataset, name="load"),
    path("p/<slug:slug>/sob/launch/", views.launch, name="launch"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/", views.show_report, name="report"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/responses/", views.list_responses, name="responses"),
]
