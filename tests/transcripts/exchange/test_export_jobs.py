"""A file that takes long is written by a worker, kept for some days, and only for the person who asked."""

import datetime
import hashlib

import pytest
from django.dispatch import Signal
from django.urls import reverse
from django.utils import timezone

from tests.support.databases import is_postgres, second_writer
from tests.transcripts.coding.cast import find_code, put
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Sentence
from transcripts.exchange import coding_rows, rows
from transcripts.exchange.actions import exporting, write_file
from transcripts.exchange.rows import Scope, find_export
from transcripts.jobs import actions, runs
from transcripts.jobs.models import ImportJob, ResultPart
from transcripts.jobs.runs import JobRun
from transcripts.studies.actions import set_member_role

State = ImportJob.State
LONG_AGO = datetime.timedelta(hours=1)
commits = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_time(monkeypatch):
    """Every export takes too long, and its file comes in several pieces."""
    monkeypatch.setattr(runs, "job_waiting", Signal())
    monkeypatch.setattr(exporting, "DIRECT_SECONDS", -1.0)
    monkeypatch.setattr(runs, "PART_BYTES", 200)
    monkeypatch.setattr(runs, "TELL_SECONDS", 0)


@pytest.fixture
def coded(study, interview, coder):
    said = list(Sentence.objects.filter(turn__interview=interview, turn__role="model").order_by("position")[:3])
    for each in said:
        put(each, find_code(study, "theme.balance"), coder)
    return said


def ask(client, study, what="codings", **posted):
    answer = client.post(reverse("exchange:download", args=[study.slug, what, "csv"]), posted)
    assert answer.status_code == 302, answer.content
    job = ImportJob.objects.latest("pk")
    assert answer["Location"] == job.get_absolute_url()
    return job


def take(client, job):
    answer = client.post(reverse("jobs:take_file", args=[job.study.slug, job.pk]))
    assert answer.status_code == 200
    data = b"".join(answer.streaming_content)
    assert answer["X-Content-SHA256"] == hashlib.sha256(data).hexdigest()
    assert answer["Content-Length"] == str(len(data))
    return data


def follow(client, path):
    return client.post(path, follow=True).content.decode()


def write_directly(study, only, path):
    export = find_export("codings")
    assert export is not None
    write_file(export=export, scope=Scope(study, only), format="csv", path=path)
    return path.read_bytes()


@commits
def test_the_file_is_the_one_that_a_download_brings_and_both_steps_are_on_record(
    study, coded, reader, client_of, tmp_path
):
    client = client_of(reader)
    job = ask(client, study)
    page = client.get(job.get_absolute_url()).content.decode()
    assert "Codings as CSV" in page
    assert "A worker takes it within seconds" in page
    actions.run_job(job.pk)
    page = client.get(job.get_absolute_url()).content.decode()
    assert "Download" in page
    assert ResultPart.objects.count() > 2
    data = take(client, job)
    assert data == write_directly(study, None, tmp_path / "codings.csv")
    written, taken = (AuditEvent.objects.get(action=each) for each in ("export.written", "jobs.job.taken"))
    assert (written.actor_name, written.details["rows"]) == ("reader", 3)
    assert written.details["sha256"] == taken.details["sha256"] == hashlib.sha256(data).hexdigest()
    assert "Codings as CSV" in client.get(reverse("exchange:exports", args=[study.slug])).content.decode()


@commits
def test_nobody_else_sees_it_and_a_coder_gets_her_own_rows(study, coded, coder, second_coder, reader, client_of):
    put(coded[0], find_code(study, "theme.compassion"), second_coder)
    job = ask(client_of(coder), study)
    actions.run_job(job.pk)
    assert take(client_of(coder), job).decode().count("theme.") == 3
    for other in (second_coder, reader):
        assert client_of(other).get(job.get_absolute_url()).status_code == 404
        for name in ("take_file", "delete_file", "cancel"):
            assert client_of(other).post(reverse(f"jobs:{name}", args=[study.slug, job.pk])).status_code == 404


@commits
def test_what_others_code_meanwhile_is_not_handed_to_somebody_who_is_blind_to_it(
    study, coded, lead, owner, coder, client_of
):
    job = ask(client_of(lead), study, rows="all")
    from tests.transcripts.corpus.test_actions import make_file, make_line
    from transcripts.corpus.actions import import_file

    name, data = make_file(make_line("another"))
    import_file(study=study, name=name, data=data, by=owner)
    sentence = Sentence.objects.filter(turn__interview__external_id="another", turn__role="model")[0]
    put(sentence, find_code(study, "theme.balance"), coder)
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.has_file) == (State.REFUSED, False)
    assert "others coded 1 more interview" in job.problem
    assert not ResultPart.objects.exists()
    assert not Unblinding.objects.exists()


@commits
def test_the_file_and_what_it_unblinds_come_together(study, coded, lead, client_of, monkeypatch):
    job = ask(client_of(lead), study, rows="all")
    assert not Unblinding.objects.exists()
    with monkeypatch.context() as patch:
        patch.setattr(JobRun, "finish_with_file", lambda *_: (_ for _ in ()).throw(RuntimeError("no room")))
        actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.has_file, Unblinding.objects.count()) == (State.FAILED, False, 0)
    job = ask(client_of(lead), study, rows="all")
    actions.run_job(job.pk)
    assert take(client_of(lead), job).decode().count("theme.balance") == 3
    assert [(each.user, each.where) for each in Unblinding.objects.all()] == [(lead, "export")]


@commits
def test_with_another_role_the_file_can_neither_be_made_nor_taken(study, coded, reader, owner, client_of):
    made, waiting = ask(client_of(reader), study), ask(client_of(reader), study)
    actions.run_job(made.pk)
    set_member_role(study=study, user=reader, role="lead", by=owner)
    actions.run_job(waiting.pk)
    assert "Your role in this study has changed" in ImportJob.objects.get(pk=waiting.pk).problem
    path = reverse("jobs:take_file", args=[study.slug, made.pk])
    assert "Your role in this study has changed" in follow(client_of(reader), path)
    assert not AuditEvent.objects.filter(action="jobs.job.taken").exists()


@commits
def test_a_killed_run_is_done_again_and_recorded_once(study, coded, reader, client_of, monkeypatch):
    job = ask(client_of(reader), study)

    class Killed(BaseException): ...

    tell = JobRun.tell

    def die(run, stage, done=0, total=0):
        tell(run, stage, done, total)
        if stage == "Storing the file" and done:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(JobRun, "tell", die)
        with pytest.raises(Killed):
            actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.stage, job.total > 0) == (State.RUNNING, "Storing the file", True)
    assert ResultPart.objects.count() == 1
    ImportJob.objects.update(touched_at=timezone.now() - LONG_AGO)
    actions.run_job(job.pk)
    assert take(client_of(reader), job).decode().count("theme.balance") == 3
    assert AuditEvent.objects.filter(action="export.written").count() == 1


@commits
@pytest.mark.skipif(is_postgres(), reason="PostgreSQL has no such refusal.")
@pytest.mark.parametrize("what", ["codings", "sentences", "texts"])
def test_a_long_file_is_left_to_a_worker_while_somebody_else_saves(
    study, coded, reader, client_of, monkeypatch, tmp_path, what
):
    monkeypatch.setattr(exporting, "ROWS_BETWEEN_LOOKS", 1)
    for module, name in ((coding_rows, "GROUP"), (rows, "CHUNK"), (coding_rows, "CHUNK")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr("django.db.models.sql.compiler.GET_ITERATOR_CHUNK_SIZE", 1)
    client, path = client_of(reader), reverse("exchange:download", args=[study.slug, what, "jsonl"])
    with second_writer(tmp_path) as save:

        def watch(done, _total):
            if done:
                save()
                raise exporting.TooLong

        monkeypatch.setattr(exporting, "watch_time", lambda: watch)
        assert (client.post(path).status_code, ImportJob.objects.count()) == (302, 1)
        # Once more on the same connection: nothing of the first stayed open.
        assert client.post(path).status_code == 302


@commits
def test_while_rows_are_read_the_connection_that_reads_them_writes_nothing(
    study, coded, reader, client_of, monkeypatch
):
    """SQLite refuses that as soon as somebody else has written meanwhile."""
    monkeypatch.setattr(coding_rows, "GROUP", 1)
    job = ask(client_of(reader), study)
    tell, seen = JobRun.tell, list[tuple[int, int, bool]]()

    def look(run, stage, done=0, total=0):
        tell(run, stage, done, total)
        if stage == "Writing the file":
            seen.append((done, ImportJob.objects.get().done, run.has_untold))
        if done == 2 and stage == "Writing the file":
            run.beat()
            seen.append((done, ImportJob.objects.get().done, run.has_untold))

    monkeypatch.setattr(JobRun, "tell", look)
    actions.run_job(job.pk)
    assert ImportJob.objects.get().state == State.DONE
    assert seen == [(0, 0, False), (0, 0, True), (1, 0, True), (2, 0, True), (2, 2, False)]


@commits
def test_cancelling_leaves_no_file(study, coded, reader, client_of, monkeypatch):
    job = ask(client_of(reader), study)
    tell = JobRun.tell

    def cancel(run, stage, done=0, total=0):
        tell(run, stage, done, total)
        if stage == "Storing the file" and done:
            actions.cancel_job(job=job, by=reader)

    monkeypatch.setattr(JobRun, "tell", cancel)
    actions.run_job(job.pk)
    assert ImportJob.objects.get().state == State.CANCELLED
    assert not ResultPart.objects.exists()
    assert not AuditEvent.objects.filter(action="export.written").exists()


@commits
def test_a_file_is_deleted_when_it_expires_or_is_not_wanted(study, coded, reader, client_of):
    client = client_of(reader)
    old, unwanted, kept = (ask(client, study) for _ in range(3))
    for job in (old, unwanted, kept):
        actions.run_job(job.pk)
    ImportJob.objects.filter(pk=old.pk).update(expires_at=timezone.now() - LONG_AGO)
    actions.clear_jobs()
    page = follow(client, reverse("jobs:delete_file", args=[study.slug, unwanted.pk]))
    assert "The file has been deleted" in page
    assert set(ResultPart.objects.values_list("job", flat=True)) == {kept.pk}
    for job in (old, unwanted):
        assert "no longer kept" in follow(client, reverse("jobs:take_file", args=[study.slug, job.pk]))
    assert take(client, kept)


@commits
def test_a_study_keeps_only_so_much(study, coded, reader, client_of, monkeypatch):
    first, second = ask(client_of(reader), study), ask(client_of(reader), study)
    actions.run_job(first.pk)
    monkeypatch.setattr(runs, "MAX_RESULT_BYTES", ImportJob.objects.get(pk=first.pk).result_size + 1)
    actions.run_job(second.pk)
    assert "Delete some on their pages" in ImportJob.objects.get(pk=second.pk).problem
    actions.delete_result(job=first, by=reader)
    third = ask(client_of(reader), study)
    actions.run_job(third.pk)
    assert take(client_of(reader), third)


def test_what_is_quick_comes_at_once(study, coded, reader, client_of, monkeypatch):
    monkeypatch.setattr(exporting, "DIRECT_SECONDS", 60.0)
    answer = client_of(reader).post(reverse("exchange:download", args=[study.slug, "codings", "csv"]))
    assert answer.status_code == 200
    assert b"theme.balance" in b"".join(answer.streaming_content)
    assert not ImportJob.objects.exists()


def test_a_project_file_of_many_interviews_is_left_to_a_worker_too(study, coded, reader, client_of):
    client_of(reader).post(reverse("exchange:download", args=[study.slug, "qdpx", "qdpx"]))
    assert ImportJob.objects.get().options["export"] == "qdpx"
    assert not AuditEvent.objects.filter(action="export.written").exists()
