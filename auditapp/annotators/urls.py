from __future__ import annotations

from django.urls import path

from auditapp.annotators import launch_views as launching
from auditapp.annotators import views as annotators

app_name = "annotators"

urlpatterns = [
    path("p/<slug:slug>/annotators/launch/", launching.launch, name="launch"),
    path("p/<slug:slug>/annotators/offline/", annotators.launch, name="launch_offline"),
    path("p/<slug:slug>/annotators/runs/<int:run_id>/", annotators.show_run, name="run"),
    path("p/<slug:slug>/annotators/runs/<int:run_id>/cancel/", annotators.cancel_offline, name="cancel_run"),
    path("p/<slug:slug>/annotators/", annotators.show_annotators, name="annotators"),
    path(
        "p/<slug:slug>/annotators/<int:annotator_id>/",
        annotators.show_annotator,
        name="annotator",
    ),
    path(
        "p/<slug:slug>/annotators/<int:annotator_id>/learnt/",
        annotators.compute_learnt,
        name="compute_learnt",
    ),
    path(
        "p/<slug:slug>/annotators/<int:annotator_id>/answers/",
        annotators.show_readings,
        name="annotator_readings",
    ),
    path("p/<slug:slug>/annotators/planted/", annotators.list_planted, name="planted"),
    path("p/<slug:slug>/annotators/planted/set/", annotators.plant_set, name="plant_set"),
    path(
        "p/<slug:slug>/annotators/planted/<int:planted_id>/withdraw/",
        annotators.withdraw_sentence,
        name="withdraw_planted",
    ),
]
