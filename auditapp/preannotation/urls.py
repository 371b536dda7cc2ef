from __future__ import annotations

from django.urls import path

from auditapp.preannotation.annotators import views as annotators
from auditapp.preannotation.evaluation.views import (
    audits,
    calibration,
    checks,
    choices,
    critic,
    disagreements,
    influence,
    rates,
    spread,
)
from auditapp.preannotation.launching import views as launching
from auditapp.preannotation.suggestions import views as suggestions

app_name = "preannotation"

urlpatterns = [
    path("p/<slug:slug>/preannotation/launch/", launching.launch, name="launch"),
    path("p/<slug:slug>/preannotation/offline/", annotators.launch, name="launch_offline"),
    path("p/<slug:slug>/preannotation/runs/<int:run_id>/", annotators.show_run, name="run"),
    path("p/<slug:slug>/preannotation/runs/<int:run_id>/cancel/", annotators.cancel_offline, name="cancel_run"),
    path("p/<slug:slug>/preannotation/annotators/", annotators.show_annotators, name="annotators"),
    path(
        "p/<slug:slug>/preannotation/annotators/<int:annotator_id>/",
        annotators.show_annotator,
        name="annotator",
    ),
    path(
        "p/<slug:slug>/preannotation/annotators/<int:annotator_id>/learnt/",
        annotators.compute_learnt,
        name="compute_learnt",
    ),
    path(
        "p/<slug:slug>/preannotation/annotators/<int:annotator_id>/answers/",
        annotators.show_readings,
        name="annotator_readings",
    ),
    path("p/<slug:slug>/preannotation/annotators/<int:annotator_id>/checks/", checks.list_of_annotator, name="checks"),
    path(
        "p/<slug:slug>/preannotation/annotators/<int:annotator_id>/checks/launch/", checks.launch, name="launch_check"
    ),
    path("p/<slug:slug>/preannotation/checks/<int:batch_id>/", checks.show_check, name="check"),
    path("p/<slug:slug>/preannotation/checks/<int:batch_id>/answers/", checks.list_answers, name="check_answers"),
    path("p/<slug:slug>/preannotation/planted/", annotators.list_planted, name="planted"),
    path("p/<slug:slug>/preannotation/planted/set/", annotators.plant_set, name="plant_set"),
    path(
        "p/<slug:slug>/preannotation/planted/<int:planted_id>/withdraw/",
        annotators.withdraw_sentence,
        name="withdraw_planted",
    ),
    path("p/<slug:slug>/preannotation/critic/", critic.launch, name="critic"),
    path("p/<slug:slug>/preannotation/reversals/", critic.show_reversals, name="reversals"),
    path("p/<slug:slug>/preannotation/audits/", audits.list_audits, name="audits"),
    path("p/<slug:slug>/preannotation/audits/draw/", audits.draw, name="draw_audit"),
    path("p/<slug:slug>/preannotation/audits/<int:audit_id>/", audits.show_audit, name="audit"),
    path("p/<slug:slug>/preannotation/audits/<int:audit_id>/results/", audits.open_results, name="audit_results"),
    path("p/<slug:slug>/preannotation/audits/<int:audit_id>/items/", audits.list_items, name="audit_items"),
    path("p/<slug:slug>/preannotation/audits/<int:audit_id>/items/<int:item_id>/", audits.mark, name="mark"),
    path("p/<slug:slug>/preannotation/spread/", spread.show_spread, name="spread"),
    path("p/<slug:slug>/preannotation/calibration/", calibration.show_calibration, name="calibration"),
    path("p/<slug:slug>/preannotation/calibration/compute/", calibration.compute, name="calibration_compute"),
    path("p/<slug:slug>/preannotation/calibration/file/", calibration.download, name="calibration_file"),
    path("p/<slug:slug>/preannotation/calibration/sentences/", calibration.list_cell, name="calibration_cell"),
    path("p/<slug:slug>/preannotation/disagreements/", disagreements.show_disagreements, name="disagreements"),
    path("p/<slug:slug>/preannotation/disagreements/unsorted/", disagreements.show_unsorted, name="unsorted"),
    path("p/<slug:slug>/preannotation/disagreements/sort/", disagreements.sort, name="sort_disagreement"),
    path("p/<slug:slug>/preannotation/choose/", choices.choose, name="choose"),
    path("p/<slug:slug>/preannotation/rates/", rates.show_rates, name="rates"),
    path("p/<slug:slug>/preannotation/rates/compute/", rates.compute, name="rates_compute"),
    path("p/<slug:slug>/preannotation/rates/file/", rates.download, name="rates_file"),
    path("p/<slug:slug>/preannotation/influence/", influence.influence, name="influence"),
    path("p/<slug:slug>/preannotation/influence/finished/", influence.open_finished, name="open_finished"),
    path("p/<slug:slug>/preannotation/withholding/", suggestions.withholding, name="withholding"),
    path("p/<slug:slug>/preannotation/drafts/", suggestions.drafts, name="drafts"),
    path("p/<slug:slug>/preannotation/drafts/<int:draft_id>/close/", suggestions.close_draft, name="close_draft"),
    path("p/<slug:slug>/sentences/<int:sentence_id>/suggestions/", suggestions.show_panel, name="panel"),
    path("p/<slug:slug>/sentences/<int:sentence_id>/suggestions/close/", suggestions.close_panel, name="close"),
    path("p/<slug:slug>/suggestions/<int:suggestion_id>/respond/", suggestions.respond, name="respond"),
]
