from __future__ import annotations

from django.urls import path

from auditapp.evaluation.views import audits, calibration, checks, choices, critic, rates

app_name = "evaluation"

urlpatterns = [
    path("p/<slug:slug>/annotators/<int:annotator_id>/checks/", checks.list_of_annotator, name="checks"),
    path("p/<slug:slug>/annotators/<int:annotator_id>/checks/launch/", checks.launch, name="launch_check"),
    path("p/<slug:slug>/evaluation/checks/<int:batch_id>/", checks.show_check, name="check"),
    path("p/<slug:slug>/evaluation/checks/<int:batch_id>/answers/", checks.list_answers, name="check_answers"),
    path("p/<slug:slug>/evaluation/critic/", critic.launch, name="critic"),
    path("p/<slug:slug>/evaluation/reversals/", critic.show_reversals, name="reversals"),
    path("p/<slug:slug>/evaluation/audits/", audits.list_audits, name="audits"),
    path("p/<slug:slug>/evaluation/audits/draw/", audits.draw, name="draw_audit"),
    path("p/<slug:slug>/evaluation/audits/<int:audit_id>/", audits.show_audit, name="audit"),
    path("p/<slug:slug>/evaluation/audits/<int:audit_id>/results/", audits.open_results, name="audit_results"),
    path("p/<slug:slug>/evaluation/audits/<int:audit_id>/items/", audits.list_items, name="audit_items"),
    path("p/<slug:slug>/evaluation/audits/<int:audit_id>/items/<int:item_id>/", audits.mark, name="mark"),
    path("p/<slug:slug>/evaluation/spread/", calibration.show_spread, name="spread"),
    path("p/<slug:slug>/evaluation/calibration/", calibration.show_calibration, name="calibration"),
    path("p/<slug:slug>/evaluation/calibration/compute/", calibration.compute, name="calibration_compute"),
    path("p/<slug:slug>/evaluation/calibration/file/", calibration.download, name="calibration_file"),
    path("p/<slug:slug>/evaluation/calibration/sentences/", calibration.list_cell, name="calibration_cell"),
    path("p/<slug:slug>/evaluation/disagreements/", choices.show_disagreements, name="disagreements"),
    path("p/<slug:slug>/evaluation/disagreements/unsorted/", choices.show_unsorted, name="unsorted"),
    path("p/<slug:slug>/evaluation/disagreements/sort/", choices.sort, name="sort_disagreement"),
    path("p/<slug:slug>/evaluation/choose/", choices.choose, name="choose"),
    path("p/<slug:slug>/evaluation/rates/", rates.show_rates, name="rates"),
    path("p/<slug:slug>/evaluation/rates/compute/", rates.compute, name="rates_compute"),
    path("p/<slug:slug>/evaluation/rates/file/", rates.download, name="rates_file"),
    path("p/<slug:slug>/evaluation/influence/", rates.influence, name="influence"),
    path("p/<slug:slug>/evaluation/influence/finished/", rates.open_finished, name="open_finished"),
]
