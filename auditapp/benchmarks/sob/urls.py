from __future__ import annotations

from django.urls import path

from auditapp.benchmarks.sob.answers import views as answers
from auditapp.benchmarks.sob.audits import views as audits
from auditapp.benchmarks.sob.judging import views as judging
from auditapp.benchmarks.sob.report.views import compare, downloads, reports, statistics
from auditapp.benchmarks.sob.tables import views as tables
from auditapp.benchmarks.sob.texts import views as texts

app_name = "sob"

# /p/<slug>/sob/
urlpatterns = [
    path("p/<slug:slug>/sob/", reports.show_dashboard, name="dashboard"),
    path("p/<slug:slug>/sob/newest/", reports.show_newest, name="newest"),
    path("p/<slug:slug>/sob/datasets/", texts.list_datasets, name="datasets"),
    path("p/<slug:slug>/sob/datasets/load/", texts.load, name="load"),
    path("p/<slug:slug>/sob/datasets/combine/", texts.combine, name="combine"),
    path("p/<slug:slug>/sob/datasets/<int:dataset_id>/", texts.show_dataset, name="dataset"),
    path("p/<slug:slug>/sob/datasets/<int:dataset_id>/sample/", texts.draw_sample, name="sample"),
    path("p/<slug:slug>/sob/datasets/<int:dataset_id>/targets/", texts.retarget, name="retarget"),
    path("p/<slug:slug>/sob/datasets/<int:dataset_id>/record/", texts.describe, name="describe"),
    path("p/<slug:slug>/sob/targets/", tables.list_tables, name="targets"),
    path("p/<slug:slug>/sob/targets/new/", tables.edit_targets, name="target_edit"),
    path("p/<slug:slug>/sob/targets/<int:number>/", tables.show_table, name="target_table"),
    path("p/<slug:slug>/sob/import/", judging.import_results, name="import"),
    path("p/<slug:slug>/sob/launch/", judging.launch, name="launch"),
    path("p/<slug:slug>/sob/wordings/", judging.list_wordings, name="wordings"),
    path("p/<slug:slug>/sob/wordings/new/", judging.write_wording, name="wording_new"),
    path("p/<slug:slug>/sob/wordings/<slug:wording>/", judging.show_wording, name="wording"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/", reports.show_report, name="report"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/again/", reports.ask_again, name="ask_again"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/responses/", answers.list_responses, name="responses"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/responses.csv", answers.download_responses, name="responses_csv"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/statistics/", statistics.show_statistics, name="statistics"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/sensitivity/", statistics.show_sensitivity, name="sensitivity"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/model/", reports.show_model, name="model"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/target/", reports.show_target, name="target"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/texts/", answers.list_texts, name="texts"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/texts/<int:text_id>/", answers.show_text, name="text"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/compare/", compare.compare, name="compare"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/values/", reports.show_values, name="values"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/map/", reports.show_map, name="map"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/files/", downloads.show_files, name="files"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/files/<slug:what>.<slug:format>", downloads.download, name="file"),
    path("p/<slug:slug>/sob/mappings/", tables.list_mappings, name="mappings"),
    path("p/<slug:slug>/sob/mappings/new/", tables.edit_mapping, name="mapping_edit"),
    path("p/<slug:slug>/sob/mappings/<slug:mapping>/", tables.show_mapping, name="mapping_table"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/readings/", judging.show_readings, name="readings"),
    path(
        "p/<slug:slug>/sob/batches/<int:batch_id>/readings/formatter/", judging.read_by_formatter, name="format_launch"
    ),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/readings/next/", judging.read_next, name="read_next"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/readings/<int:cell_id>/", judging.read_answer, name="read_answer"),
    path(
        "p/<slug:slug>/sob/batches/<int:batch_id>/readings/<int:cell_id>/history/",
        judging.show_history,
        name="reading_history",
    ),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/audits/", audits.list_audits, name="audits"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/audits/new/", audits.draw, name="audit_new"),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/", audits.show_audit, name="audit"),
    path(
        "p/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/open/", audits.open_results, name="audit_open"
    ),
    path("p/<slug:slug>/sob/batches/<int:batch_id>/audits/<int:audit_id>/<int:item_id>/", audits.mark, name="mark"),
]
