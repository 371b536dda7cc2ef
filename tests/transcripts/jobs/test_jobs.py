"""Large files are left to a worker: whole or not at all, whatever dies, and nobody waits for them."""

import datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.dispatch import Signal
from django.urls import reverse
from django.utils import timezone

from tests.conftest import make_user
from tests.support.instance import wait_until
from tests.transcripts.corpus.test_actions import make_file, make_line
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus import actions as corpus_actions
from transcripts.corpus import storing, views
from transcripts.corpus.models import ImportedFile, Interview, Sentence
from transcripts.formats import interviews as readers
from transcripts.jobs import actions, runs
from transcripts.jobs.models import ImportJob, UploadPart
from transcripts.jobs.runs import JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Membership

State = ImportJob.State
FILE = make_file(*(make_line(f"i{number}", consent={"quotation": True}) for number in range(5)))
LONG_AGO = datetime.timedelta(hours=1)
commits = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Five interviews are stored in five groups, and their file comes in pieces."""
    monkeypatch.setattr(runs, "job_waiting", Signal())
    monkeypatch.setattr(readers, "KEPT_SIZE", 0)
    monkeypatch.setattr(corpus_actions, "ROWS_IN_A_GROUP", 5)
    monkeypatch.setattr(storing, "ROWS_AT_A_TIME", 3)
    monkeypatch.setattr(storing, "rest", lambda _seconds: None)
    monkeypatch.setattr(actions, "PART_BYTES", 100)
    monkeypatch.setattr("transcripts.jobs.runs.TELL_SECONDS", 0)


def start(study, by, *files, check_only=False):
    uploads = [SimpleUploadedFile(name, data) for name, data in files or [FILE]]
    return actions.start_job(
        study=study, kind="interviews", files=uploads, by=by, check_only=check_only, options={"format": "auto"}
    )


def at_each_step(monkeypatch, function):
    """Call ``function`` whenever a run tells how far it is."""
    tell = JobRun.tell

    def tell_and_call(run, stage, done=0, total=0):
        tell(run, stage, done, total)
        if stage == "Storing":
            function(run, done)

    monkeypatch.setattr(JobRun, "tell", tell_and_call)


def count_visible(study):
    return (
        study.interviews.count(),
        Sentence.objects.filter(turn__interview__study=study).count(),
        AuditEvent.objects.filter(action="corpus.file.imported").count(),
    )


def test_what_would_fill_the_disk_is_refused_before_anything_is_stored(study, lead, monkeypatch):
    needed = 4 * len(FILE[1]) + actions.ROOM_FOR_PEOPLE
    monkeypatch.setattr(actions, "find_room", lambda: needed - 1)
    with pytest.raises(Refused, match=r"too little space on the disk .* Nothing was stored"):
        start(study, lead)
    assert not ImportJob.objects.exists()
    monkeypatch.setattr(actions, "find_room", lambda: needed)
    assert start(study, lead).state == State.WAITING


def test_an_upload_arrives_in_pieces_and_is_put_together_again(study, lead):
    job = start(study, lead, FILE, ("empty.jsonl", b""))
    assert UploadPart.objects.filter(job=job).count() == -(-len(FILE[1]) // 100)
    assert JobRun(job).read_files() == [FILE, ("empty.jsonl", b"")]
    assert (job.state, job.files[0]) == (State.WAITING, {"name": FILE[0], "size": len(FILE[1])})


@commits
def test_a_run_imports_the_files_and_forgets_the_upload(study, lead, monkeypatch):
    job = start(study, lead)
    seen = []

    def look(run, done):
        seen.append((count_visible(study), ImportJob.objects.get().done, done))

    at_each_step(monkeypatch, look)
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, count_visible(study)) == (State.DONE, (5, 15, 1))
    assert {visible for visible, _, _ in seen} == {(0, 0, 0)}
    assert [told for _, told, _ in seen] == [done for *_, done in seen] == [0, 2, 4, 6, 8, 10]
    assert job.outcome["reports"][0]["sentences"] == 15
    assert not UploadPart.objects.exists()
    event = AuditEvent.objects.get(action="corpus.file.imported")
    assert (event.actor_name, event.details["consents"]) == ("lead", 5)
    assert event.details["interviews"] == sorted(study.interviews.values_list("pk", flat=True))
    actions.run_job(job.pk)
    assert count_visible(study) == (5, 15, 1), "a message that comes twice did it twice"


@commits
def test_a_run_goes_on_where_a_killed_one_stopped(study, lead, monkeypatch):
    job = start(study, lead)
    torn = []

    class Killed(BaseException): ...

    def die(run, done):
        if done == 6:
            # One group is whole but for a sentence.
            torn.append(Sentence.objects.order_by("-pk").values_list("turn__interview", flat=True)[0])
            Sentence.objects.order_by("-pk")[0].delete()
            raise Killed

    at_each_step(monkeypatch, die)
    monkeypatch.setattr(storing, "remove", lambda files, **_: None)
    with pytest.raises(Killed):
        actions.run_job(job.pk)
    monkeypatch.undo()
    stored = set(Interview.objects.values_list("pk", flat=True))
    assert len(stored) == 3
    actions.run_job(job.pk)
    assert ImportJob.objects.get().state == State.RUNNING, "a run was taken for dead that has shown itself just now"
    ImportJob.objects.update(touched_at=timezone.now() - LONG_AGO)
    assert runs.find_free_jobs() == [job.pk]
    actions.run_job(job.pk)
    assert count_visible(study) == (5, 15, 1)
    kept = set(Interview.objects.values_list("pk", flat=True)) & stored
    assert kept == stored - set(torn), "what was whole was stored again, or what was torn was kept"
    assert AuditEvent.objects.get(action="corpus.file.imported").details["consents"] == 5
    assert ImportJob.objects.get().outcome["reports"][0]["sentences"] == 15


@commits
def test_a_run_that_was_taken_for_dead_stores_nothing_more_and_removes_nothing(study, lead, monkeypatch):
    job = start(study, lead)
    second = []

    def let_another_run(run, done):
        if done == 6 and not second:
            second.append(run.job.runner)
            ImportJob.objects.update(touched_at=timezone.now() - LONG_AGO)
            actions.run_job(job.pk)

    at_each_step(monkeypatch, let_another_run)
    actions.run_job(job.pk)
    assert second
    assert ImportJob.objects.get().state == State.DONE
    assert count_visible(study) == (5, 15, 1)


@commits
@pytest.mark.parametrize("ends", ["cancelled", "paused"])
def test_a_job_that_is_cancelled_leaves_nothing_and_one_that_is_paused_leaves_what_it_has(
    study, lead, monkeypatch, ends
):
    job = start(study, lead)
    if ends == "paused":
        done_by_now = []
        at_each_step(monkeypatch, lambda run, done: done_by_now.append(done))
        actions.run_job(job.pk, should_pause=lambda: len(done_by_now) > 2)
        assert ImportJob.objects.get().state == State.WAITING
        assert 0 < Interview.objects.count() < 5
        assert count_visible(study) == (0, 0, 0)
        actions.run_job(job.pk)
        assert count_visible(study) == (5, 15, 1)
        assert ImportJob.objects.get().lost_runs == 0
    else:
        at_each_step(monkeypatch, lambda run, done: done == 6 and actions.cancel_job(job=job, by=lead))
        actions.run_job(job.pk)
        assert ImportJob.objects.get().state == State.CANCELLED
        assert not Interview.objects.exists()
        assert not ImportedFile.objects.exists()
        assert not UploadPart.objects.exists()
        with pytest.raises(Refused, match="has ended"):
            actions.cancel_job(job=job, by=lead)


@commits
def test_a_check_stores_nothing_and_the_same_upload_can_then_be_imported(study, lead):
    job = start(study, lead, check_only=True)
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.outcome["reports"][0]["sentences"]) == (State.CHECKED, 15)
    assert not Interview.objects.exists()
    actions.import_checked(job=job, by=lead)
    actions.run_job(job.pk)
    assert count_visible(study) == (5, 15, 1)
    with pytest.raises(Refused, match="Reload"):
        actions.import_checked(job=job, by=lead)


@commits
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "line 1"),
        (make_line("i0", "Another text.").encode(), "i0 whose text differs"),
        (b"\xff\xfe\xff", "x.jsonl"),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused_in_the_same_words(study, lead, data, words):
    corpus_actions.import_file(study=study, name=FILE[0], data=FILE[1], by=lead)
    with pytest.raises(Refused) as caught:
        corpus_actions.import_file(study=study, name="x.jsonl", data=data, by=lead)
    job = start(study, lead, ("x.jsonl", data))
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.problem) == (State.REFUSED, str(caught.value))
    assert words in job.problem
    assert count_visible(study)[0] == 5


@commits
@pytest.mark.parametrize("check_only", [False, True])
def test_files_that_cannot_be_read_are_named_and_the_others_can_be_imported(study, lead, client_of, check_only):
    files = [("bad.jsonl", b"{"), FILE, ("worse.jsonl", b"[1"), ("good.jsonl", make_line("good").encode())]
    job = start(study, lead, *files, check_only=check_only)
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, list(job.outcome["left_out"])) == (State.CHECKED, ["bad.jsonl", "worse.jsonl"])
    assert not Interview.objects.exists(), "nobody has seen yet that two files are left out"
    client, address = client_of(lead), job.get_absolute_url()
    page = client.get(address).content.decode()
    assert "Some files cannot be read and would be left out." in page
    assert "bad.jsonl, line 1" in page
    assert '<input type="hidden" name="without" value="worse.jsonl">' in page
    url, without = reverse("jobs:import_checked", args=[study.slug, job.pk]), ["bad.jsonl", "worse.jsonl"]
    client.post(url, {"without": without, "check": "1", "model": "Model Z"})
    actions.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, list(job.outcome["left_out"])) == (State.CHECKED, without)
    assert 'value="Model Z"' in client.get(address).content.decode()
    client.post(url, {"without": without})
    actions.run_job(job.pk)
    assert count_visible(study) == (6, 18, 2)
    assert "Left out: <bdi>bad.jsonl</bdi>, <bdi>worse.jsonl</bdi>." in client.get(address).content.decode()


@commits
def test_a_consent_without_its_basis_keeps_what_was_checked(study, lead, client_of):
    job = start(study, lead, check_only=True)
    actions.run_job(job.pk)
    url = reverse("jobs:import_checked", args=[study.slug, job.pk])
    page = client_of(lead).post(url, {"consent": "external", "listed": ["i0", "i1"], "take": "i1"})
    job.refresh_from_db()
    assert (page.status_code, job.state) == (422, State.CHECKED)
    text = page.content.decode()
    assert '<a href="#choose-basis">' in text
    assert '<input type="checkbox" name="take" value="i0" aria-label' in text
    client_of(lead).post(url, {"consent": "external", "basis": "A form.", "listed": ["i0", "i1"], "take": "i1"})
    actions.run_job(job.pk)
    assert study.interviews.count() == 4


@commits
def test_a_job_ends_in_words_when_its_person_left_or_its_worker_dies_again_and_again(study, lead, coder, monkeypatch):
    left, killing, broken = start(study, coder), start(study, lead), start(study, lead)
    actions.run_job(left.pk)
    for _ in range(actions.MAX_LOST_RUNS + 1):
        ImportJob.objects.filter(pk=killing.pk).update(state=State.RUNNING, touched_at=timezone.now() - LONG_AGO)
        with monkeypatch.context() as patch:
            patch.setattr(actions, "_carry_out", lambda run: None)
            actions.run_job(killing.pk)
    ImportJob.objects.filter(pk=killing.pk).update(touched_at=timezone.now() - LONG_AGO)
    actions.run_job(killing.pk)
    monkeypatch.setattr(corpus_actions, "plan_files", lambda *_, **_options: 1 / 0)
    actions.run_job(broken.pk)
    problems = [ImportJob.objects.get(pk=job.pk).problem for job in (left, killing, broken)]
    assert "coder may no longer start this import" in problems[0]
    assert "died 6 times in a row" in problems[1]
    assert f"import {broken.pk}" in problems[2]
    assert "ZeroDivision" not in problems[2]
    assert not UploadPart.objects.exists()


def test_what_nobody_goes_on_with_is_given_up_and_its_files_deleted(study, lead):
    uploading, checked, ended, waiting = (start(study, lead) for _ in range(4))
    for job, state in ((uploading, State.UPLOADING), (checked, State.CHECKED), (ended, State.DONE)):
        ImportJob.objects.filter(pk=job.pk).update(state=state)
    actions.clear_jobs()
    assert set(UploadPart.objects.values_list("job", flat=True)) == {uploading.pk, checked.pk, waiting.pk}
    ImportJob.objects.update(touched_at=F("touched_at") - datetime.timedelta(days=2))
    actions.clear_jobs()
    actions.clear_jobs()
    assert set(UploadPart.objects.values_list("job", flat=True)) == {waiting.pk}
    assert "broke off" in ImportJob.objects.get(pk=uploading.pk).problem
    assert "within a day" in ImportJob.objects.get(pk=checked.pk).problem
    assert AuditEvent.objects.filter(action="jobs.job.cancelled", actor_name="system").count() == 2


def test_so_many_run_at_once_and_the_others_wait(study, lead):
    running_now, also, waiting = (start(study, lead) for _ in range(3))
    ImportJob.objects.exclude(pk=waiting.pk).update(state=State.RUNNING, touched_at=timezone.now())
    actions.run_job(waiting.pk)
    assert ImportJob.objects.get(pk=waiting.pk).state == State.WAITING
    ImportJob.objects.filter(pk=also.pk).update(touched_at=timezone.now() - LONG_AGO)
    actions.run_job(waiting.pk)
    assert ImportJob.objects.get(pk=waiting.pk).state == State.DONE
    assert ImportJob.objects.get(pk=running_now.pk).state == State.RUNNING


def test_of_those_that_begin_at_the_same_moment_the_latest_give_way(study, lead, monkeypatch):
    *others, latest = (start(study, lead) for _ in range(3))

    def let_others_begin(now):
        ImportJob.objects.filter(pk__in=[job.pk for job in others]).update(state=State.RUNNING, touched_at=now)
        return runs.is_free(now)

    monkeypatch.setattr(actions, "is_free", let_others_begin)
    actions.run_job(latest.pk)
    assert ImportJob.objects.get(pk=latest.pk).state == State.WAITING


def test_a_study_has_so_many_imports_at_once(study, lead, monkeypatch):
    monkeypatch.setattr(actions, "MAX_OPEN_JOBS", 1)
    start(study, lead)
    with pytest.raises(Refused, match="cancel imports that were only checked"):
        start(study, lead)
    assert ImportJob.objects.count() == 1


def test_the_page_leaves_a_large_file_to_a_worker_and_shows_how_far_it_is(study, lead, coder, client_of, monkeypatch):
    monkeypatch.setattr(views, "LARGE_SIZE", 100)
    address, lead_client = reverse("corpus:import", args=[study.slug]), client_of(lead)
    upload = {"uploads": [SimpleUploadedFile(*FILE)], "format": "auto"}
    checked = lead_client.post(address, {**upload, "check": "1"}, headers={"HX-Request": "true"})
    imported = lead_client.post(address, {**upload, "uploads": [SimpleUploadedFile(*FILE)]})
    first, second = ImportJob.objects.order_by("pk")
    assert (checked["HX-Redirect"], imported["Location"]) == (first.get_absolute_url(), second.get_absolute_url())
    assert (first.check_only, second.check_only, second.options["format"]) == (True, False, "auto")
    page = lead_client.get(second.get_absolute_url()).content.decode()
    assert "Waiting for a worker" in page
    assert 'hx-trigger="every 2s"' in page
    ImportJob.objects.update(touched_at=timezone.now() - LONG_AGO)
    assert "No worker has taken it yet" in lead_client.get(second.get_absolute_url()).content.decode()
    ImportJob.objects.update(state=State.RUNNING, stage="Storing", done=3, total=10)
    page = lead_client.get(second.get_absolute_url()).content.decode()
    assert '<progress class="wide" value="3" max="10"' in page
    ImportJob.objects.update(state=State.WAITING)
    actions.run_job(first.pk)
    page = lead_client.get(first.get_absolute_url()).content.decode()
    assert "Import these files" in page
    assert '<td class="num">15</td>' in page
    lead_client.post(reverse("jobs:import_checked", args=[study.slug, first.pk]))
    actions.run_job(first.pk)
    lead_client.post(reverse("jobs:cancel", args=[study.slug, second.pk]))
    assert [job.state for job in ImportJob.objects.order_by("pk")] == [State.DONE, State.CANCELLED]
    assert study.interviews.count() == 5
    assert "hx-trigger" not in lead_client.get(first.get_absolute_url()).content.decode().partition('id="job"')[2]
    assert first.get_absolute_url() in lead_client.get(address).content.decode()
    assert client_of(coder).get(first.get_absolute_url()).status_code == 403


def test_the_owner_of_the_site_who_is_no_member_may_import(study):
    admin = make_user("admin")
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    job = start(study, admin)
    actions.run_job(job.pk)
    assert ImportJob.objects.get().state == State.DONE
    assert not Membership.objects.filter(user=admin).exists()


START = """
import sys
from pathlib import Path
from django.core.files.uploadedfile import SimpleUploadedFile
from transcripts.accounts.models import User
from transcripts.jobs.actions import start_job
from transcripts.studies.models import Study
start_job(
    study=Study.objects.get(), kind="interviews", by=User.objects.get(username="lead"), options={"format": "auto"},
    files=[SimpleUploadedFile("large.jsonl", Path(sys.argv[1]).read_bytes())],
)
"""


@pytest.mark.processes
@pytest.mark.full
def test_a_worker_goes_on_with_the_import_of_a_worker_that_was_killed(instance, tmp_path):
    instance.manage("study", "create", "culture", "--name", "Culture")
    instance.manage("user", "create", "lead", "--study", "culture", "--role", "lead")
    file = tmp_path / "large.jsonl"
    file.write_text("\n".join(make_line(f"i{n}", "It depends on the family. " * 40) for n in range(600)))
    instance.run_code(START, str(file))
    worker = instance.start_worker("--queues", "1")
    staged = "SELECT count(*) FROM corpus_interview"
    wait_until(lambda: instance.query(staged)[0][0] > 200, what="more than a group of interviews is stored")
    instance.stop()
    worker.wait(30)
    assert instance.query("SELECT state FROM jobs_importjob") == [("running",)]
    assert instance.query(f"{staged} WHERE study_id IS NOT NULL") == [(0,)]
    kept = instance.query("SELECT min(id) FROM corpus_interview")
    instance.write(["UPDATE jobs_importjob SET touched_at = '2020-01-01 00:00:00+00:00'"])
    instance.start_worker("--queues", "1")
    wait_until(lambda: instance.query("SELECT state FROM jobs_importjob") != [("running",)], what="the import ends")
    assert instance.query("SELECT state, lost_runs FROM jobs_importjob")[0][0] == "done"
    assert instance.query(f"{staged} WHERE study_id IS NOT NULL") == [(600,)]
    assert instance.query("SELECT count(*) FROM corpus_sentence") == [(600 * 41,)]
    assert instance.query("SELECT min(id) FROM corpus_interview") == kept, "it began again from the start"
    assert instance.query("SELECT count(*) FROM audit_trail_auditevent WHERE action = 'corpus.file.imported'") == [(1,)]
    parts = "SELECT count(*) FROM jobs_uploadpart"
    wait_until(lambda: instance.query(parts) == [(0,)], what="the upload is deleted")


@commits
def test_only_a_run_that_gets_further_than_the_one_before_begins_the_count_of_lost_runs_anew(study, lead):
    job = start(study, lead)
    told = []
    for _ in range(2):
        ImportJob.objects.update(touched_at=timezone.now() - LONG_AGO)
        run = actions._take(job.pk, lambda: False)
        assert run is not None
        for done in (1, 2):
            run.tell("Storing", done, 5)
            told.append(ImportJob.objects.get().lost_runs)
    assert run is not None
    run.tell("Storing", 3, 5)
    assert [*told, ImportJob.objects.get().lost_runs] == [0, 0, 1, 1, 0]
