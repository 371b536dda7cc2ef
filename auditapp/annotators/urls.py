from __future__ import annotations

from django.urls import path

from auditapp.annotators import views

app_name = "annotators"

urlpatterns = [
    path("studies/<slug:slug>/annotators/launch/", views.launch, name="launch"),
    path("studies/<slug:slug>/annotators/offline/", views.show_offline_launch, name="launch_offline"),
    path("studies/<slug:slug>/annotators/runs/<int:run_id>/", views.show_run, name="run"),
    path("studies/<slug:slug>/annotators/runs/<int:run_id>/cancel/", views.cancel_offline, name="cancel_run"),
    path("studies/<slug:slug>/annotators/", views.show_annotators, name="annotators"),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/",
        views.show_annotator,
        name="annotator",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/learnt/",
        views.compute_learnt,
        name="compute_learnt",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/answers/",
        views.show_turn_answers,
        name="turn_answers",
    ),
    path("studies/<slug:slug>/annotators/control-sentences/", views.list_control_sentences, name="control_sentences"),
    path("studies/<slug:slug>/annotators/control-sentences/set/", views.add_control_set, name="add_control_set"),
    path(
        "studies/<slug:slug>/annotators/control-sentences/<int:control_id>/withdraw/",
        views.withdraw_sentence,
        name="withdraw_control_sentence",
    ),
]
