from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from transcripts.codebook.views import codes, proposals, versions

app_name = "codebook"

version_urls: list[URLPattern | URLResolver] = [
    # /studies/<slug>/codebook/v<number>/
    path("", versions.show_version, name="version"),
    path("keys/", versions.show_key_card, name="key_card"),
    path("codes/<int:code_id>/", versions.show_code, name="code"),
    path("publish/", versions.publish, name="publish"),
    path("discard/", versions.discard, name="discard"),
    # /studies/<slug>/codebook/v<number>/edit/
    path("edit/", versions.show_draft, name="draft"),
    path("edit/move/", versions.move, name="move"),
    path("edit/restore/", versions.restore, name="restore"),
    path("edit/merge/", codes.merge_codes, name="merge"),
    path("edit/families/add/", codes.add_family, name="add_family"),
    path("edit/families/<int:family_id>/", codes.edit_family, name="edit_family"),
    path("edit/families/<int:family_id>/remove/", codes.remove_family, name="remove_family"),
    path("edit/codes/add/", codes.add_code, name="add_code"),
    path("edit/codes/<int:code_id>/", codes.edit_code, name="edit_code"),
    path("edit/codes/<int:code_id>/retire/", codes.retire_code, name="retire_code"),
    path("edit/codes/<int:code_id>/split/", codes.split_code, name="split_code"),
    path("edit/codes/<int:code_id>/pin/", proposals.pin, name="pin_example"),
    path("edit/codes/<int:code_id>/invent/", proposals.add_invented, name="add_invented_example"),
    path("edit/examples/<int:example_id>/unpin/", proposals.unpin, name="unpin_example"),
    path("edit/examples/<int:example_id>/repin/", proposals.repin, name="repin_example"),
]

codebook_urls: list[URLPattern | URLResolver] = [
    # /studies/<slug>/codebook/
    path("", versions.show_current, name="current"),
    path("import/", versions.import_file, name="import"),
    path("draft/", versions.start_draft, name="start_draft"),
    path("draft/built-in/", versions.take_newer_parts, name="take_newer_parts"),
    path("compare/", versions.choose_comparison, name="choose_comparison"),
    path("v<int:older>..v<int:number>/", versions.compare_versions, name="compare"),
    path("pin/", proposals.pin_from_desk, name="pin"),
    path("propose/", proposals.propose, name="propose"),
    path("proposals/", proposals.list_proposals, name="proposals"),
    path("proposals/<int:proposal_id>/", proposals.answer_proposal, name="answer_proposal"),
    path("v<int:number>/", include(version_urls)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("new-study/", versions.start_study, name="start_study"),
    path("studies/<slug:slug>/codebook/", include(codebook_urls)),
]
