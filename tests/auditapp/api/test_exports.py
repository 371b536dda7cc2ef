"""A program takes exports."""

import csv
import hashlib
import io

import pytest
from django.dispatch import Signal

from transcripts.audit_trail.models import AuditEvent
from transcripts.exchange.actions import exporting
from transcripts.jobs import runs
from transcripts.jobs.actions import run_job
from transcripts.jobs.models import ImportJob

pytestmark = pytest.mark.django_db
PATH = "studies/culture/exports/"


def take(program, path, **body):
    answer = program.post(path, body)
    assert answer.status == 200, answer.body
    return answer, answer.body


def read_table(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def test_the_exports_are_listed_with_their_formats_and_columns(study, reader, program_of):
    rows = program_of(reader).get(PATH, limit="1000").body["results"]
    codings = next(row for row in rows if row["key"] == "codings")
    assert {"csv", "json", "jsonl"} <= set(codings["formats"])
    assert codings["unblinds"] is True
    assert all(column["name"] for column in codings["columns"])


def test_a_file_is_sent_at_once_and_recorded(study, coder, second_coder, reader, put_code, program_of):
    put_code(coder)
    put_code(second_coder)
    answer, data = take(program_of(reader), f"{PATH}codings/", format="csv")
    assert answer.headers["X-Content-SHA256"] == hashlib.sha256(data).hexdigest()
    assert [row["coder"] for row in read_table(data)] == [coder.username, second_coder.username]
    assert AuditEvent.objects.filter(action="export.written", actor_name=reader.username).count() == 1


def test_a_coder_gets_her_own_rows_and_a_lead_is_not_unblinded_by_a_program(
    study, coder, second_coder, lead, put_code, program_of
):
    put_code(coder)
    put_code(second_coder)
    _, data = take(program_of(coder), f"{PATH}codings/", format="csv")
    assert [row["coder"] for row in read_table(data)] == [coder.username]
    answer = program_of(lead).post(f"{PATH}codings/", {"format": "csv"})
    assert answer.status == 409
    assert "`own`" in answer.error["message"]
    put_code(lead)
    _, data = take(program_of(lead), f"{PATH}codings/", format="csv", rows="own")
    assert [row["coder"] for row in read_table(data)] == [lead.username]


def test_a_file_that_takes_long_is_written_by_a_worker_and_taken_by_its_person_alone(
    study, coder, second_coder, put_code, program_of, monkeypatch
):
    monkeypatch.setattr(runs, "job_waiting", Signal())
    monkeypatch.setattr(exporting, "DIRECT_SECONDS", -1.0)
    put_code(coder)
    program = program_of(coder)
    waiting = program.post(f"{PATH}codings/", {"format": "csv"})
    assert (waiting.status, waiting.body["state"], waiting.body["has_file"]) == (202, "waiting", False)
    path = f"{PATH}files/{waiting.body['id']}/"
    assert program.post(f"{path}take/").status == 409
    run_job(ImportJob.objects.get().pk)
    assert program.get(path).body["state"] == "done"
    _, data = take(program, f"{path}take/")
    assert [row["coder"] for row in read_table(data)] == [coder.username]
    assert program_of(second_coder).get(path).status == 404
    assert program_of(second_coder).post(f"{path}take/").status == 404


@pytest.mark.parametrize(("what", "format", "status"), [("nothing", "csv", 404), ("codings", "docx", 422)])
def test_what_cannot_be_exported_is_refused(study, reader, program_of, what, format, status):
    assert program_of(reader).post(f"{PATH}{what}/", {"format": format}).status == status
