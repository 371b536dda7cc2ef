from __future__ import annotations

from django.urls import path

from transcripts.jobs import views

app_name = "jobs"

urlpatterns = [
    path("studies/<slug:slug>/imports/<int:job_id>/", views.show_job, name="job"),
    path("studies/<slug:slug>/imports/<int:job_id>/import/", views.import_checked, name="import_checked"),
    path("studies/<slug:slug>/imports/<int:job_id>/cancel/", views.cancel, name="cancel"),
    path("studies/<slug:slug>/imports/<int:job_id>/file/", views.take_file, name="take_file"),
    path("studies/<slug:slug>/imports/<int:job_id>/file/delete/", views.delete_file, name="delete_file"),
]
