from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.sob.judging.views import answers, launches
from auditapp.benchmarks.sob.report.views import comparisons, reports
from auditapp.benchmarks.sob.texts import views as texts

app_name = "sob"

# /studies/<slug>/sob/
urlpatterns = [
    path("studies/<slug:slug>/sob/", reports.show_dashboard, name="dashboard"),
    path("studies/<slug:slug>/sob/newest/", reports.show_newest, name="newest"),
    path("studies/<slug:slug>/sob/datasets/", texts.list_datasets, name="datasets"),
    path("studies/<slug:slug>/sob/datasets/load/", texts.load, name="load"),
    path("studies/<slug:slug>/sob/datasets/combine/", texts.combine, name="combine"),
    path("studies/<slug:slug>/sob/datasets/<int:dataset_id>/", texts.show_dataset, name="dataset"),
    path("studies/<slug:slug>/sob/datasets/<int:dataset_id>/sample/", texts.draw_sample, name="sample"),
    path("studies/<slug:slug>/sob/datasets/<int:dataset_id>/targets/", texts.retarget, name="retarget"),
    path("studies/<slug:slug>/sob/datasets/<int:dataset_id>/record/", texts.describe, name="describe"),
    path("studies/<slug:slug>/sob/targets/", texts.list_tables, name="targets"),
    path("studies/<slug:slug>/sob/targets/new/", texts.edit_targets, name="target_edit"),
    path("studies/<slug:slug>/sob/targets/<int:number>/", texts.show_table, name="target_table"),
    path("studies/<slug:slug>/sob/import/", launches.import_results, name="import"),
    path("studies/<slug:slug>/sob/launch/", launches.launch, name="launch"),
    path("studies/<slug:slug>/sob/wordings/", launches.list_wordings, name="wordings"),
    path("studies/<slug:slug>/sob/wordings/new/", launches.write_wording, name="wording_new"),
    path("studies/<slug:slug>/sob/wordings/<slug:wording>/", launches.show_wording, name="wording"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/", reports.show_report, name="report"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/again/", reports.ask_again, name="ask_again"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/responses/", answers.list_responses, name="responses"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/responses.csv", answers.download_responses, name="responses_csv"
    ),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/statistics/", comparisons.show_statistics, name="statistics"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/sensitivity/", comparisons.show_sensitivity, name="sensitivity"
    ),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/model/", reports.show_model, name="model"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/target/", reports.show_target, name="target"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/texts/", answers.list_texts, name="texts"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/texts/<int:text_id>/", answers.show_text, name="text"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/compare/", comparisons.compare, name="compare"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/values/", reports.show_values, name="values"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/map/", reports.show_map, name="map"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/files/", comparisons.show_files, name="files"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/files/<slug:what>.<slug:format>",
        comparisons.download,
        name="file",
    ),
    path("studies/<slug:slug>/sob/mappings/", texts.list_mappings, name="mappings"),
    path("studies/<slug:slug>/sob/mappings/new/", texts.edit_mapping, name="mapping_edit"),
    path("studies/<slug:slug>/sob/mappings/<slug:mapping>/", texts.show_mapping, name="mapping_table"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/interpretations/",
        answers.show_interpretations,
        name="interpretations",
    ),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/interpretations/formatter/",
        answers.read_by_formatter,
        name="format_launch",
    ),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/interpretations/next/", answers.read_next, name="read_next"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/interpretations/<int:cell_id>/",
        answers.read_answer,
        name="read_answer",
    ),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/interpretations/<int:cell_id>/history/",
        answers.show_history,
        name="interpretation_history",
    ),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/audits/", answers.list_audits, name="audits"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/audits/new/", answers.draw, name="audit_new"),
    path("studies/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/", answers.show_audit, name="audit"),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/open/",
        answers.open_results,
        name="audit_open",
    ),
    path(
        "studies/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/<int:item_id>/", answers.mark, name="mark"
    ),
]
