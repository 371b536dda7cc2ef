from __future__ import annotations

from django.urls import path

from transcripts.corpus import views

app_name = "corpus"

urlpatterns = [
    # /studies/<slug>/interviews/
    path("studies/<slug:slug>/interviews/", views.list_interviews, name="interviews"),
    path("studies/<slug:slug>/interviews/import/", views.import_interviews, name="import"),
    path("studies/<slug:slug>/interviews/<int:interview_id>/details/", views.show_details, name="details"),
    # /studies/<slug>/interviews/files/
    path("studies/<slug:slug>/interviews/files/", views.list_files, name="files"),
    path("studies/<slug:slug>/interviews/files/<int:file_id>/undo/", views.undo, name="undo"),
    # /studies/<slug>/interviews/archive/
    path("studies/<slug:slug>/interviews/archive/", views.show_archive, name="archive"),
    path("studies/<slug:slug>/interviews/archive/add/", views.archive, name="add_to_archive"),
    path("studies/<slug:slug>/interviews/archive/restore/", views.restore, name="restore"),
    # /studies/<slug>/interviews/consent/
    path("studies/<slug:slug>/interviews/consent/", views.list_consent, name="consent"),
    path("studies/<slug:slug>/interviews/consent/record/", views.record, name="record_consent"),
    path("studies/<slug:slug>/interviews/<int:interview_id>/consent/", views.show_history, name="interview_consent"),
    # /studies/<slug>/interviews/redaction/
    path("studies/<slug:slug>/interviews/redaction/", views.edit_redaction, name="redaction"),
]
