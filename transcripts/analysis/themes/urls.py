from __future__ import annotations

from django.urls import include, path

from transcripts.analysis.themes.views import evidence, reflexive, themes

app_name = "themes"

theme_urls = [
    # /p/<slug>/themes/<number>/
    path("", themes.show_theme, name="theme"),
    path("history/", themes.show_history, name="history"),
    path("edit/", themes.revise, name="edit"),
    path("split/", themes.split, name="split"),
    path("quote/<int:sentence_id>/", evidence.quote, name="quote"),
    path("quotes/<int:quote_id>/withdraw/", evidence.withdraw_quote, name="withdraw_quote"),
]

urlpatterns = [
    # /p/<slug>/themes/
    path("p/<slug:slug>/themes/", themes.show_themes, name="themes"),
    path("p/<slug:slug>/themes/new/", themes.create, name="new"),
    path("p/<slug:slug>/themes/group/", themes.group, name="group"),
    path("p/<slug:slug>/themes/merge/", themes.merge, name="merge"),
    path("p/<slug:slug>/themes/presence/", evidence.show_presence, name="presence"),
    path("p/<slug:slug>/themes/models/", evidence.show_compared, name="compared"),
    path("p/<slug:slug>/themes/models/file/", evidence.download, name="compared_file"),
    path("p/<slug:slug>/themes/evidence/", evidence.show_evidence, name="evidence"),
    path("p/<slug:slug>/themes/<int:number>/", include(theme_urls)),
    # /p/<slug>/phases/
    path("p/<slug:slug>/phases/", reflexive.show_phases, name="phases"),
    path("p/<slug:slug>/phases/write/", reflexive.write_entry, name="write_entry"),
    path("p/<slug:slug>/phases/change/", reflexive.change_entry, name="change_entry"),
    path("p/<slug:slug>/phases/withdraw/", reflexive.withdraw_entry, name="withdraw_entry"),
    # /p/<slug>/positionality/
    path("p/<slug:slug>/positionality/", reflexive.show_positionality, name="positionality"),
    path("p/<slug:slug>/positionality/write/", reflexive.write_statement, name="write_statement"),
    path("p/<slug:slug>/positionality/withdraw/", reflexive.withdraw_statement, name="withdraw_statement"),
    path("p/<slug:slug>/positionality/not-now/", reflexive.postpone_statement, name="postpone_statement"),
]
