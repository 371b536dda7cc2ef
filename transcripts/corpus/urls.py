from __future__ import annotations

from django.urls import path

from transcripts.corpus import views

app_name = "corpus"

urlpatterns = [
    # /p/<slug>/interviews/
    path("p/<slug:slug>/interviews/", views.list_interviews, name="interviews"),
    path("p/<slug:slug>/interviews/import/", views.import_interviews, name="import"),
    path("p/<slug:slug>/interviews/<int:interview_id>/details/", views.show_details, name="details"),
    # /p/<slug>/interviews/files/
    path("p/<slug:slug>/interviews/files/", views.list_files, name="files"),
    path("p/<slug:slug>/interviews/files/<int:file_id>/undo/", views.undo, name="undo"),
    # /p/<slug>/interviews/archive/
    path("p/<slug:slug>/interviews/archive/", views.show_archive, name="archive"),
    path("p/<slug:slug>/interviews/archive/add/", views.archive, name="add_to_archive"),
    path("p/<slug:slug>/interviews/archive/restore/", views.restore, name="restore"),
    # /p/<slug>/interviews/consent/
    path("p/<slug:slug>/interviews/consent/", views.list_consent, name="consent"),
    path("p/<slug:slug>/interviews/consent/record/", views.record, name="record_consent"),
    path("p/<slug:slug>/interviews/<int:interview_id>/consent/", views.show_history, name="interview_consent"),
    # /p/<slug>/interviews/redaction/
    path("p/<slug:slug>/interviews/redaction/", views.edit_redaction, name="redaction"),
]
