"""Large project files are checked and brought in by a worker: all of a file, or nothing."""

import datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.dispatch import Signal
from django.urls import reverse
from django.utils import timezone

from tests.conftest import make_member
from tests.transcripts.exchange.test_qdpx import SECOND, make_foreign
from transcripts.audit_trail.replay import compare_rows
from transcripts.audit_trail.trail import list_streams
from transcripts.codebook.queries import current_version, find_open_draft
from transcripts.coding.models import Coding, Memo
from transcripts.corpus import storing
from transcripts.corpus.models import Interview
from transcripts.exchange import views
from transcripts.jobs import runs
from transcripts.jobs.actions import cancel_job, run_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobRun, JobStopped

State = ImportJob.State
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    monkeypatch.setattr(runs, "job_waiting", Signal())
    monkeypatch.setattr(views, "LARGE_SIZE", 0)
    monkeypatch.setattr(runs, "TELL_SECONDS", 0)


def upload(client, study, path):
    file = SimpleUploadedFile("foreign.qdpx", path.read_bytes())
    answer = client.post(reverse("exchange:import", args=[study.slug]), {"file": file})
    job = ImportJob.objects.latest("pk")
    assert answer["Location"] == job.get_absolute_url()
    return job


def bring_in(client, job, **ticked):
    client.post(reverse("jobs:import_checked", args=[job.study.slug, job.pk]), ticked)


def test_the_people_are_looked_at_before_a_worker_imports_the_file(study, lead, coder, client_of, tmp_path):
    client = client_of(lead)
    job = upload(client, study, make_foreign(tmp_path, second="coder", user=SECOND))
    run_job(job.pk)
    page = " ".join(client.get(job.get_absolute_url()).content.decode().split())
    assert "<bdi>coder</bdi> is <bdi>coder</bdi>, a member of this study" in page
    assert f'value="{SECOND}" checked' in page
    assert "What would be imported" in page
    assert not Interview.objects.exists()
    bring_in(client, job, member=SECOND)
    run_job(job.pk)
    assert ImportJob.objects.get().state == State.DONE
    assert {each.coder.username for each in Coding.objects.all()} == {"coder"}
    page = client.get(job.get_absolute_url()).content.decode()
    assert "What was imported" in page
    assert "a member of this study" not in page


def test_who_was_not_ticked_is_kept_apart_also_if_she_became_a_member_since(study, lead, owner, client_of, tmp_path):
    job = upload(client_of(lead), study, make_foreign(tmp_path, second="coder", user=SECOND))
    run_job(job.pk)
    make_member(study, owner, "coder", "coder")
    bring_in(client_of(lead), job)
    run_job(job.pk)
    assert {each.coder.username for each in Coding.objects.all()} == {"coder (imported)"}


@pytest.mark.parametrize("stops", ["killed", "stopped", "paused"])
def test_a_run_that_ends_half_way_shows_nothing_and_the_next_one_imports_it_all(
    study, lead, client_of, tmp_path, monkeypatch, stops
):
    client = client_of(lead)
    job = upload(client, study, make_foreign(tmp_path))
    run_job(job.pk)
    bring_in(client, job)

    class Killed(BaseException): ...

    tell, reached = JobRun.tell, list[str]()

    def stop(run, stage, done=0, total=0):
        if stage == "Comparing with the study":
            # Stored, and nobody sees it, nor waits for it.
            assert Coding.objects.count() == 2
            assert not study.interviews.exists()
            assert not connection.in_atomic_block
            assert compare_rows(list_streams()).differences == []
            reached.append(stage)
            if stops == "killed":
                raise Killed
            if stops == "stopped":
                raise JobStopped
        tell(run, stage, done, total)

    with monkeypatch.context() as patch:
        patch.setattr(JobRun, "tell", stop)
        if stops == "killed":
            # Not even its own tidying takes place.
            patch.setattr(storing, "remove", lambda _files, **_: None)
            with pytest.raises(Killed):
                run_job(job.pk)
        else:
            run_job(job.pk, should_pause=lambda: stops == "paused" and bool(reached))
    assert reached
    assert not study.interviews.exists()
    assert Coding.objects.exists() == (stops != "stopped")
    assert current_version(study) == study.codebook_versions.get(number=1)
    assert find_open_draft(study) is None
    job.refresh_from_db()
    assert job.state == (State.WAITING if stops == "paused" else State.RUNNING)
    ImportJob.objects.update(touched_at=timezone.now() - datetime.timedelta(hours=1))
    run_job(job.pk)
    assert ImportJob.objects.get().state == State.DONE
    assert Coding.objects.filter(sentence__turn__interview__study=study).count() == Coding.objects.count() == 2
    assert compare_rows(list_streams()).differences == []


def test_what_a_cancelled_import_has_stored_is_removed_codings_too(study, lead, client_of, tmp_path, monkeypatch):
    client = client_of(lead)
    job = upload(client, study, make_foreign(tmp_path))
    run_job(job.pk)
    bring_in(client, job)
    tell = JobRun.tell

    def cancel(run, stage, done=0, total=0):
        if stage == "Comparing with the study":
            cancel_job(job=job, by=lead)
        tell(run, stage, done, total)

    monkeypatch.setattr(JobRun, "tell", cancel)
    run_job(job.pk)
    assert ImportJob.objects.get().state == State.CANCELLED
    assert not Coding.objects.exists()
    assert not Interview.objects.exists()
    assert not Memo.objects.exists()


def test_a_broken_file_is_refused_in_words(study, lead, client_of, tmp_path):
    path = tmp_path / "x.qdpx"
    path.write_bytes(b"PK nothing")
    job = upload(client_of(lead), study, path)
    run_job(job.pk)
    job.refresh_from_db()
    assert job.state == State.REFUSED
    assert "zip archive" in job.problem
