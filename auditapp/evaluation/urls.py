from __future__ import annotations

from django.urls import path

from auditapp.evaluation.views import calibration, checks, choices, positives, rates

app_name = "evaluation"

urlpatterns = [
    path("studies/<slug:slug>/annotators/<int:annotator_id>/checks/", checks.list_of_annotator, name="checks"),
    path("studies/<slug:slug>/annotators/<int:annotator_id>/checks/launch/", checks.launch, name="launch_check"),
    path("studies/<slug:slug>/evaluation/checks/<int:batch_id>/", checks.show_check, name="check"),
    path("studies/<slug:slug>/evaluation/checks/<int:batch_id>/answers/", checks.list_answers, name="check_answers"),
    path("studies/<slug:slug>/evaluation/critic/", positives.launch, name="critic"),
    path("studies/<slug:slug>/evaluation/rejections/", positives.show_rejections, name="rejections"),
    path("studies/<slug:slug>/evaluation/audits/", positives.list_audits, name="audits"),
    path("studies/<slug:slug>/evaluation/audits/draw/", positives.draw, name="draw_audit"),
    path("studies/<slug:slug>/evaluation/audits/<int:audit_id>/", positives.show_audit, name="audit"),
    path("studies/<slug:slug>/evaluation/audits/<int:audit_id>/results/", positives.open_results, name="audit_results"),
    path("studies/<slug:slug>/evaluation/audits/<int:audit_id>/items/", positives.list_items, name="audit_items"),
    path("studies/<slug:slug>/evaluation/audits/<int:audit_id>/items/<int:item_id>/", positives.mark, name="mark"),
    path("studies/<slug:slug>/evaluation/spread/", calibration.show_spread, name="spread"),
    path("studies/<slug:slug>/evaluation/calibration/", calibration.show_calibration, name="calibration"),
    path("studies/<slug:slug>/evaluation/calibration/compute/", calibration.compute, name="calibration_compute"),
    path("studies/<slug:slug>/evaluation/calibration/file/", calibration.download, name="calibration_file"),
    path("studies/<slug:slug>/evaluation/calibration/sentences/", calibration.list_cell, name="calibration_cell"),
    path("studies/<slug:slug>/evaluation/disagreements/", choices.show_disagreements, name="disagreements"),
    path("studies/<slug:slug>/evaluation/disagreements/unsorted/", choices.show_unsorted, name="unsorted"),
    path("studies/<slug:slug>/evaluation/disagreements/sort/", choices.sort, name="sort_disagreement"),
    path("studies/<slug:slug>/evaluation/choose/", choices.choose, name="choose"),
    path("studies/<slug:slug>/evaluation/rates/", rates.show_rates, name="rates"),
    path("studies/<slug:slug>/evaluation/rates/compute/", rates.compute, name="rates_compute"),
    path("studies/<slug:slug>/evaluation/rates/file/", rates.download, name="rates_file"),
    path("studies/<slug:slug>/evaluation/influence/", rates.influence, name="influence"),
    path("studies/<slug:slug>/evaluation/influence/finished/", rates.open_completed, name="open_completed"),
]
