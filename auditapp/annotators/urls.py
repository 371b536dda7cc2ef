from __future__ import annotations

from django.urls import path

from auditapp.annotators import launch_views as launching
from auditapp.annotators import views as annotators

app_name = "annotators"

urlpatterns = [
    path("studies/<slug:slug>/annotators/launch/", launching.launch, name="launch"),
    path("studies/<slug:slug>/annotators/offline/", annotators.launch, name="launch_offline"),
    path("studies/<slug:slug>/annotators/runs/<int:run_id>/", annotators.show_run, name="run"),
    path("studies/<slug:slug>/annotators/runs/<int:run_id>/cancel/", annotators.cancel_offline, name="cancel_run"),
    path("studies/<slug:slug>/annotators/", annotators.show_annotators, name="annotators"),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/",
        annotators.show_annotator,
        name="annotator",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/learnt/",
        annotators.compute_learnt,
        name="compute_learnt",
    ),
    path(
        "studies/<slug:slug>/annotators/<int:annotator_id>/answers/",
        annotators.show_turn_answers,
        name="turn_answers",
    ),
    path(
        "studies/<slug:slug>/annotators/control-sentences/", annotators.list_control_sentences, name="control_sentences"
    ),
    path("studies/<slug:slug>/annotators/control-sentences/set/", annotators.add_control_set, name="add_control_set"),
    path(
        "studies/<slug:slug>/annotators/control-sentences/<int:control_id>/withdraw/",
        annotators.withdraw_sentence,
        name="withdraw_control_sentence",
    ),
]
