from __future__ import annotations

from django.urls import path

from auditapp.suggestions import views as suggestions

app_name = "suggestions"

urlpatterns = [
    path("studies/<slug:slug>/suggestions/withholding/", suggestions.withholding, name="withholding"),
    path("studies/<slug:slug>/suggestions/drafts/", suggestions.drafts, name="drafts"),
    path("studies/<slug:slug>/suggestions/drafts/<int:draft_id>/close/", suggestions.close_draft, name="close_draft"),
    path("studies/<slug:slug>/sentences/<int:sentence_id>/suggestions/", suggestions.show_panel, name="panel"),
    path("studies/<slug:slug>/sentences/<int:sentence_id>/suggestions/close/", suggestions.close_panel, name="close"),
    path("studies/<slug:slug>/suggestions/<int:suggestion_id>/respond/", suggestions.respond, name="respond"),
]
