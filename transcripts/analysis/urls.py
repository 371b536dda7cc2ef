from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from transcripts.analysis.notebook import views as notebook
from transcripts.analysis.search import views as search
from transcripts.analysis.themes.views import evidence, reflexive, themes

search_urls = [
    # /studies/<slug>/search/
    path("studies/<slug:slug>/search/", search.search, name="search"),
    # /studies/<slug>/codings/
    path("studies/<slug:slug>/codings/interviews/", search.by_interview, name="by_interview"),
    path("studies/<slug:slug>/codings/models/", search.by_model, name="by_model"),
    path("studies/<slug:slug>/codings/answers/", search.by_answer, name="by_answer"),
    path("studies/<slug:slug>/codings/co-occurrence/", search.cooccurrence, name="cooccurrence"),
    path("studies/<slug:slug>/codings/turns/", search.score_sheets, name="score_sheets"),
    path("studies/<slug:slug>/codings/turns/<int:interview_id>/", search.score_sheet, name="score_sheet"),
]

theme_urls = [
    # /studies/<slug>/themes/<number>/
    path("", themes.show_theme, name="theme"),
    path("history/", themes.show_history, name="history"),
    path("edit/", themes.revise, name="edit"),
    path("split/", themes.split, name="split"),
    path("quote/<int:sentence_id>/", evidence.quote, name="quote"),
    path("quotes/<int:quote_id>/withdraw/", evidence.withdraw_quote, name="withdraw_quote"),
]

themes_urls: list[URLPattern | URLResolver] = [
    # /studies/<slug>/themes/
    path("studies/<slug:slug>/themes/", themes.show_themes, name="themes"),
    path("studies/<slug:slug>/themes/new/", themes.create, name="new"),
    path("studies/<slug:slug>/themes/group/", themes.group, name="group"),
    path("studies/<slug:slug>/themes/merge/", themes.merge, name="merge"),
    path("studies/<slug:slug>/themes/presence/", evidence.show_presence, name="presence"),
    path("studies/<slug:slug>/themes/models/", evidence.show_compared, name="compared"),
    path("studies/<slug:slug>/themes/models/file/", evidence.download, name="compared_file"),
    path("studies/<slug:slug>/themes/evidence/", evidence.show_evidence, name="evidence"),
    path("studies/<slug:slug>/themes/<int:number>/", include(theme_urls)),
    # /studies/<slug>/phases/
    path("studies/<slug:slug>/phases/", reflexive.show_phases, name="phases"),
    path("studies/<slug:slug>/phases/write/", reflexive.write_entry, name="write_entry"),
    path("studies/<slug:slug>/phases/change/", reflexive.change_entry, name="change_entry"),
    path("studies/<slug:slug>/phases/withdraw/", reflexive.withdraw_entry, name="withdraw_entry"),
    # /studies/<slug>/positionality/
    path("studies/<slug:slug>/positionality/", reflexive.show_positionality, name="positionality"),
    path("studies/<slug:slug>/positionality/write/", reflexive.write_statement, name="write_statement"),
    path("studies/<slug:slug>/positionality/withdraw/", reflexive.withdraw_statement, name="withdraw_statement"),
    path("studies/<slug:slug>/positionality/not-now/", reflexive.postpone_statement, name="postpone_statement"),
]

notebook_urls = [
    # /studies/<slug>/memos/
    path("studies/<slug:slug>/memos/", notebook.list_memos, name="list"),
    path("studies/<slug:slug>/memos/new/", notebook.write, name="new"),
    path("studies/<slug:slug>/memos/<int:memo_id>/", notebook.show_memo, name="memo"),
    path("studies/<slug:slug>/memos/<int:memo_id>/revise/", notebook.revise, name="revise"),
    path("studies/<slug:slug>/memos/<int:memo_id>/withdraw/", notebook.withdraw, name="withdraw"),
]

urlpatterns = [
    path("", include((search_urls, "search"))),
    path("", include((themes_urls, "themes"))),
    path("", include((notebook_urls, "notebook"))),
]
