"""Large files are looked into in a process of its own, and loaded by a worker: with the same words and the same result."""

import datetime
import subprocess
from pathlib import Path

import pytest
from django.dispatch import Signal
from django.utils import timezone

from auditapp.benchmarks.sob.models import Dataset, Text
from auditapp.benchmarks.sob.pure import dataset_sources
from auditapp.benchmarks.sob.pure.dataset_texts import Draw, SampleError, load_published_targets
from auditapp.benchmarks.sob.texts.actions import loading
from tests.auditapp.benchmarks.sob.test_datasets_pages import UNUSUAL, Loading, read_fields
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus import storing
from transcripts.formats.problems import ReadError
from transcripts.jobs import actions, runs
from transcripts.jobs.models import ImportJob

FILES = Path(__file__).parents[4] / "data" / "sob"
PREPARED = (FILES / "prepared.csv").read_bytes()
MAPPED = (FILES / "mapped.jsonl").read_bytes()
USUAL = {"columns": None, "targets": "", "all_rows": False, "drops_repeated": False, "draw": None}

commits = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _every_file_is_large(monkeypatch):
    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    monkeypatch.setattr(loading, "SMALL_SIZE", 1)
    monkeypatch.setattr(loading, "INSERT_SIZE", 2)
    monkeypatch.setattr(storing, "rest", lambda _seconds: None)
    monkeypatch.setattr(runs, "job_waiting", Signal())


@pytest.mark.processes
def test_what_is_found_apart_is_what_is_found_here(monkeypatch):
    columns = dataset_sources.preview(MAPPED, "mapped.jsonl").mapping
    ways = [
        (PREPARED, USUAL),
        (PREPARED, {**USUAL, "draw": Draw(2), "drops_repeated": True}),
        (MAPPED, {**USUAL, "columns": dict(columns), "label_rows": load_published_targets().rows, "targets": "table"}),
    ]
    here = [
        (dataset_sources.preview(data, "a file"), dataset_sources.plan(data, "a file", **how)) for data, how in ways
    ]
    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    assert [
        (dataset_sources.preview(data, "a file"), dataset_sources.plan(data, "a file", **how)) for data, how in ways
    ] == here


@pytest.mark.processes
def test_what_is_refused_apart_is_refused_in_the_same_words(monkeypatch):
    def refuse():
        found = []
        for data in (b"text,target\nhateful,a\nhateful\n", b"\xff\xfe", b'{"text": "\xc2\xa0", "target": "a"}'):
            with pytest.raises(ReadError) as caught:
                dataset_sources.plan(data, "x.csv", **USUAL)
            found.append(str(caught.value))
        with pytest.raises(SampleError) as too_many:
            dataset_sources.plan(PREPARED, "x.csv", **{**USUAL, "draw": Draw(10_000)})
        return [*found, str(too_many.value)]

    here = refuse()
    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    assert refuse() == here
    assert "hateful" not in "".join(here)


@pytest.mark.processes
def test_a_file_that_takes_too_long_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    monkeypatch.setattr(dataset_sources, "SECONDS", 0.001)
    with pytest.raises(ReadError, match=r"x.csv: found a file not read in .* expected a smaller one"):
        dataset_sources.preview(PREPARED, "x.csv")


@commits
@pytest.mark.usefixtures("_every_file_is_large")
def test_a_large_file_is_loaded_by_a_worker_as_the_page_says(study, lead, client_of):
    screen = Loading(client_of(lead), study)
    page = screen.send(UNUSUAL, "check")
    typed = read_fields(page) | {"column_text": "0", "column_target": "1", "column_external_id": "2"}
    screen.send(UNUSUAL, "check", typed)
    screen.send(UNUSUAL, "load", typed)
    job = ImportJob.objects.get()
    assert screen.location == job.get_absolute_url()
    assert not Dataset.objects.exists()
    seen = []

    def look():
        seen.append(study.datasets.count())
        return False

    actions.run_job(job.pk, should_pause=look)
    job.refresh_from_db()
    assert (job.state, set(seen)) == (ImportJob.State.DONE, {0})
    assert [text.target for text in Text.objects.order_by("position")] == ["Women", "elves"]
    assert AuditEvent.objects.get(action="sob.dataset.loaded").actor_name == "lead"
    assert "Texts is loaded: 2 texts." in client_of(lead).get(screen.location).content.decode()
    again = screen.send(UNUSUAL, "load", typed)
    second = ImportJob.objects.latest("pk")
    actions.run_job(second.pk)
    assert "was already loaded" in client_of(lead).get(second.get_absolute_url()).content.decode(), again


@commits
@pytest.mark.usefixtures("_every_file_is_large")
def test_a_worker_that_dies_or_a_file_that_is_wrong_leaves_no_texts(study, lead, client_of, monkeypatch):
    screen = Loading(client_of(lead), study)
    typed = read_fields(screen.send(PREPARED, "check"))
    screen.send(PREPARED, "load", typed)
    job = ImportJob.objects.get()

    class Killed(BaseException): ...

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(loading, "_record_load", die)
        with pytest.raises(Killed):
            actions.run_job(job.pk)
    assert not Text.objects.exists()
    ImportJob.objects.update(
        touched_at=timezone.now() - datetime.timedelta(hours=1), options={**job.options, "table": 9}
    )
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == ImportJob.State.REFUSED
    assert "no target table 9" in job.problem
    assert not Dataset.objects.exists()


def test_a_reader_that_fails_is_not_told_as_one_without_memory(monkeypatch, caplog):
    def fail(told, returncode):
        answer = subprocess.CompletedProcess([], returncode, stdout=b"", stderr=told)
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
        with pytest.raises(ReadError) as refused:
            dataset_sources.preview(PREPARED, "texts.csv")
        return str(refused.value)

    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    traceback = b'Traceback:\n  File "reader.py", line 3, in read\n    call()\nValueError: a hateful text'
    assert "log says where" in fail(traceback, 1)
    assert 'ValueError < File "reader.py", line 3, in read' in caplog.text
    assert "hateful" not in caplog.text
    assert "too much memory" in fail(b"MemoryError\n", 1)
    assert "too much memory" in fail(b"", -9)


def test_a_third_large_file_at_once_is_asked_to_come_again(monkeypatch):
    monkeypatch.setattr(dataset_sources, "LARGE_BYTES", 0)
    monkeypatch.setattr(dataset_sources, "WAIT_SECONDS", 0)
    with dataset_sources._ROOM, dataset_sources._ROOM, pytest.raises(ReadError, match="being read at this moment"):
        dataset_sources.preview(PREPARED, "texts.csv")
