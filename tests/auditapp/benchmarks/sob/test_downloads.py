"""The page of files and its downloads: by a form, on record, named after batch and report."""

import csv
import hashlib
import io
from decimal import Decimal

import pytest
from django.urls import reverse
from pyarrow import parquet

from auditapp.batches.models import Attempt
from auditapp.benchmarks.sob.models import Judgment
from auditapp.benchmarks.sob.pure.answer_files import read_bundle
from auditapp.benchmarks.sob.pure.parsing import parse_answer
from auditapp.benchmarks.sob.pure.report import REPORT_VERSION, ReportOptions, build_report
from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.benchmarks.sob.pure.tables import FORMATS, TABLES, print_table
from auditapp.benchmarks.sob.report.exports import COLUMNS, SOB_ANSWERS, read_answers
from auditapp.benchmarks.sob.report.views import comparisons
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from tests.auditapp.benchmarks.sob.measures.answering import answer
from tests.auditapp.benchmarks.sob.reports import answer_all, launch, make_report, read_again
from tests.auditapp.benchmarks.sob.test_formatter import store_results
from transcripts.audit_trail.models import AuditEvent
from transcripts.charts.svg import NoRenderer
from transcripts.exchange.actions import exporting, write_file
from transcripts.exchange.rows import Scope
from transcripts.formats.tabular import show_cell
from transcripts.jobs.actions import run_job
from transcripts.jobs.models import ImportJob


def ask(client, batch, what, format, **data):
    return client.post(reverse("sob:file", args=[batch.study.slug, batch.pk, what, format]), data)


@pytest.fixture
def answered(batch):
    for label in ("model a", "model b"):
        for task in ("acceptability", "non_acceptability"):
            answers = ['{"age": "=1+1"}', "Person: Unknown", '{"race": "White"}', "No."]
            answer_cells(batch, answers, label=label, task=task)
    return batch


def test_every_file_comes_named_hashed_and_on_record(client_of, owner, answered):
    client = client_of(owner)
    for key, formats in FORMATS.items():
        for format in formats:
            response = ask(client, answered, key, format)
            assert response.status_code == 200, (key, format)
            name = f"sob-batch-{answered.pk}-report-{REPORT_VERSION}-{key}.{format}"
            assert f'attachment; filename="{name}"' in response["Content-Disposition"]
            digest = hashlib.sha256(response.content).hexdigest()
            event = AuditEvent.objects.filter(action="sob.file.taken_out").latest("pk")
            assert event.details == {"what": key, "format": format, "sha256": digest}
            assert response["X-Content-SHA256"] == digest
    assert AuditEvent.objects.filter(action="sob.file.taken_out").count() == sum(map(len, FORMATS.values()))


def test_the_page_offers_every_file(client_of, owner, answered):
    page = client_of(owner).get(reverse("sob:files", args=[answered.study.slug, answered.pk])).content.decode()
    for key, formats in FORMATS.items():
        for format in formats:
            assert f"/files/{key}.{format}" in page
    assert "/files/bundle.zip" in page
    assert "Unknown is the only warranted answer" in page


def test_a_reader_may_take_files_and_an_outsider_sees_none(client_of, reader, outsider, answered):
    assert ask(client_of(reader), answered, "cells", "csv").status_code == 200
    assert ask(client_of(outsider), answered, "cells", "csv").status_code == 404


def test_a_file_there_is_not_is_not_found(client_of, owner, answered):
    client = client_of(owner)
    for key, format in (("cells", "png"), ("nothing", "csv"), ("bundle", "csv")):
        assert ask(client, answered, key, format).status_code == 404, key


def test_formulas_are_escaped_unless_the_file_is_wished_exact(client_of, owner, answered):
    client = client_of(owner)
    assert b"'=1+1" in ask(client, answered, "top_values", "csv").content
    assert b"'=1+1" not in ask(client, answered, "top_values", "csv", exact="on").content


def test_the_social_map_of_one_model(client_of, owner, answered):
    client = client_of(owner)
    assert b"Values attributed by model a" in ask(client, answered, "map", "svg", model="model a").content
    assert b"Values attributed by all models together" in ask(client, answered, "map", "svg", model="no such").content


@pytest.mark.parametrize("texts", [True, False])
def test_the_bundle_comes_with_or_without_texts(client_of, owner, answered, tmp_path, texts):
    response = ask(client_of(owner), answered, "bundle", "zip", **({"texts": "on"} if texts else {}))
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(response.streaming_content))
    assert response["X-Content-SHA256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    content = read_bundle(path)
    assert all(("text" in text) is texts for text in content.read("inputs.jsonl"))
    assert AuditEvent.objects.get(action="sob.file.taken_out").details["texts"] is texts


@pytest.mark.django_db(transaction=True)
def test_a_bundle_that_takes_long_is_written_by_a_worker(client_of, owner, reader, answered, monkeypatch, tmp_path):
    monkeypatch.setattr(exporting, "DIRECT_SECONDS", -1.0)
    client = client_of(owner)
    response = ask(client, answered, "bundle", "zip")
    job = ImportJob.objects.get()
    assert response["Location"] == job.get_absolute_url()
    assert not AuditEvent.objects.filter(action="sob.file.taken_out").exists()
    run_job(job.pk)
    assert "Download" in client.get(job.get_absolute_url()).content.decode()
    assert client_of(reader).get(job.get_absolute_url()).status_code == 404
    taken = client.post(reverse("jobs:take_file", args=[answered.study.slug, job.pk]))
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(taken.streaming_content))
    assert taken["X-Content-SHA256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert not any("text" in text for text in read_bundle(path).read("inputs.jsonl"))
    event = AuditEvent.objects.get(action="sob.file.taken_out")
    assert (event.actor_name, event.details["sha256"]) == (owner.username, taken["X-Content-SHA256"])
    assert f"Bundle of batch {answered.pk}" in client.get(f"/studies/{answered.study.slug}/exports/").content.decode()


def test_a_missing_renderer_is_told(client_of, owner, answered, monkeypatch):
    def refuse(*_, **__):
        raise NoRenderer("PNG needs a package.")

    monkeypatch.setattr(comparisons, "write_file", refuse)
    client = client_of(owner)
    response = ask(client, answered, "heat", "png")
    assert "PNG needs a package." in client.get(response["Location"]).content.decode()
    assert not AuditEvent.objects.filter(action="sob.file.taken_out").exists()


def read_table(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_csv_tables_hold_every_row_and_leave_undefined_cells_empty():
    report = make_report()
    cells = read_table(print_table(report, "cells"))
    assert len(cells) == len(report["cells"])
    assert (cells[-1]["sob"], cells[-1]["ci_low"], cells[0]["ci_low"]) == ("", "", "-0.1")
    assert (cells[0]["outcome_attributed"], cells[0]["outcome_provider_error"]) == ("50", "0")
    assert len(read_table(print_table(report, "mean_ranks"))) == 20
    assert read_table(print_table(report, "posthoc"))[0]["difference"] == "2.5"
    mapped = read_table(print_table(report, "mapping"))[0]
    assert [float(mapped[name]) for name in ("pct_low", "pct", "pct_high")] == pytest.approx([19.5, 25.0, 31.4])
    first = read_table(print_table(report, "top_values"))[0]
    assert (first["model"], first["rank"], first["value"], first["pct"]) == ("", "1", "White", "60.0")


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_no_heading_stands_twice(table):
    assert len(set(table.names)) == len(table.names)


def test_every_row_of_a_table_says_what_it_must_be_read_with(client_of, owner, answered):
    answered.arms.update(settings={"instrument": "ours", "sha256": "f" * 64})
    client = client_of(owner)
    for name in ("cells", "sensitivity", "top_values", "readers"):
        rows = read_table(ask(client, answered, name, "csv").content.decode())
        assert rows
        assert {
            ("Not comparable with the published" in row["notice"], "invented" in row["notice"]) for row in rows
        } == {(True, True)}


def test_a_row_has_the_alarms_of_its_own_model_task_and_texts():
    observations = [
        answer("Unknown" if model == "mute" else 1, model=model, item=item, target=target, task=task)
        for model in ("mute", "loud")
        for task in ("acceptability", "non_acceptability")
        for target in ("cats", "dogs")
        for item in range(12)
    ]
    report = build_report(tally_observations(observations), options=ReportOptions(resamples=0))
    cells = read_table(print_table(report, "cells"))
    for row in cells:
        texts = "all texts" if row["target"] == "overall" else f"texts on {row['target']}"
        said = f"{row['model']}, {row['task'].replace('_', '-')}, {texts}: answers Unknown to nearly everything"
        assert (said in row["notice"], row["notice"].count("nearly everything")) == (
            (True, 1) if row["model"] == "mute" else (False, 0)
        )
    pooled = [row for row in read_table(print_table(report, "top_values")) if not row["model"]]
    assert {row["notice"].count("mute, acceptability") for row in pooled if row["task"] == "acceptability"} == {1}


def test_a_table_with_nothing_to_say_has_an_empty_notice():
    assert {row["notice"] for row in read_table(print_table(make_report(), "cells"))} == {""}


def test_files_of_invented_answers_say_so(client_of, owner, answered):
    client = client_of(owner)
    for key, format in (("report", "json"), ("tables", "tex"), ("heat", "svg"), ("ranks", "svg"), ("map", "svg")):
        assert b"invented" in ask(client, answered, key, format).content


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_rows_has_its_headings(name):
    assert print_table({}, name) == ",".join(TABLES[name].names) + "\r\n"


def test_the_study_export_has_a_row_for_each_answer_with_the_standing_interpretation(dataset, owner):
    batch = launch(dataset, owner)
    answer_all(batch)
    read_again(Judgment.objects.filter(cell__batch=batch, outcome="off_format").earliest("pk"), owner, '{"age": "old"}')
    rows = [
        dict(zip([each.name for each in COLUMNS], row, strict=True)) for row in read_answers(Scope(batch.study, None))
    ]
    assert len(rows) == batch.cells.filter(judgment__isnull=False).count()
    [read] = [row for row in rows if row["reader"] != "rules"]
    assert (read["outcome"], read["attributes"], read["n_attributes"]) == ("attributed", {"age": "old"}, 1)
    assert {type(row["cost_usd"]) for row in rows} <= {Decimal, type(None)}


ANSWERS_AS_THEY_CAME = ['{"Person": "X"}\r\n', " Person: Unknown", "=prose, \U0001f44b"]


def test_the_study_export_has_each_answer_as_it_came_so_that_it_can_be_read_again(batch):
    store_results(batch, ANSWERS_AS_THEY_CAME)
    headings = [each.name for each in COLUMNS]
    rows = [dict(zip(headings, row, strict=True)) for row in read_answers(Scope(batch.study, None))]
    assert [row["answer"] for row in rows] == ANSWERS_AS_THEY_CAME
    read = [parse_answer(row["answer"], finish_reason=row["finish_reason"]).outcome for row in rows]
    assert read == [row["outcome"] for row in rows]


def test_the_study_export_comes_back_from_parquet_as_it_was(batch, tmp_path):
    store_results(batch, ANSWERS_AS_THEY_CAME)
    Attempt.objects.update(cost_nano=1_234, tokens_out=7)
    scope, path = Scope(batch.study, None), tmp_path / "answers.parquet"
    assert write_file(export=SOB_ANSWERS, scope=scope, format="parquet", path=path)[0] == len(ANSWERS_AS_THEY_CAME)
    as_text = {each.name for each in COLUMNS if each.kind is str}
    for row, stored in zip(parquet.read_table(path).to_pylist(), read_answers(scope), strict=True):
        for name, given in zip(row, stored, strict=True):
            is_shown = name in as_text and given is not None and not isinstance(given, str)
            assert row[name] == (show_cell(given) if is_shown else given), name


def test_two_studies_do_not_mix_in_the_export(study):
    assert list(read_answers(Scope(study, None))) == []
