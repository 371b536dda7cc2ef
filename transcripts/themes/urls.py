from __future__ import annotations

from django.urls import include, path

from transcripts.themes import evidence_views, reflexive_views, views

app_name = "themes"

theme_urls = [
    # /p/<slug>/themes/<number>/
    path("", views.show_theme, name="theme"),
    path("history/", views.show_history, name="history"),
    path("edit/", views.revise, name="edit"),
    path("split/", views.split, name="split"),
    path("quote/<int:sentence_id>/", evidence_views.quote, name="quote"),
    path("quotes/<int:quote_id>/withdraw/", evidence_views.withdraw_quote, name="withdraw_quote"),
]

urlpatterns = [
    # /p/<slug>/themes/
    path("p/<slug:slug>/themes/", views.show_themes, name="themes"),
    path("p/<slug:slug>/themes/new/", views.create, name="new"),
    path("p/<slug:slug>/themes/group/", views.group, name="group"),
    path("p/<slug:slug>/themes/merge/", views.merge, name="merge"),
    path("p/<slug:slug>/themes/presence/", evidence_views.show_presence, name="presence"),
    path("p/<slug:slug>/themes/evidence/", evidence_views.show_evidence, name="evidence"),
    path("p/<slug:slug>/themes/<int:number>/", include(theme_urls)),
    # /p/<slug>/phases/
    path("p/<slug:slug>/phases/", reflexive_views.show_phases, name="phases"),
    path("p/<slug:slug>/phases/write/", reflexive_views.write_entry, name="write_entry"),
    path("p/<slug:slug>/phases/change/", reflexive_views.change_entry, name="change_entry"),
    path("p/<slug:slug>/phases/withdraw/", reflexive_views.withdraw_entry, name="withdraw_entry"),
    # /p/<slug>/positionality/
    path("p/<slug:slug>/positionality/", reflexive_views.show_positionality, name="positionality"),
    path("p/<slug:slug>/positionality/write/", reflexive_views.write_statement, name="write_statement"),
    path("p/<slug:slug>/positionality/withdraw/", reflexive_views.withdraw_statement, name="withdraw_statement"),
    path("p/<slug:slug>/positionality/not-now/", reflexive_views.postpone_statement, name="postpone_statement"),
]
