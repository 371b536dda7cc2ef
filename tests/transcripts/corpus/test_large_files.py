"""Files that are too large to be held in memory are read object by object, twice: to be checked, and to be stored."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.dispatch import Signal
from django.urls import reverse

from tests.transcripts.corpus.test_actions import count_rows, make_file, make_line
from transcripts.codebook.actions import start_study
from transcripts.corpus import actions, planning, storing
from transcripts.corpus.actions import import_file, import_files, plan_imports
from transcripts.corpus.models import Interview
from transcripts.corpus.pure.previews import Choices
from transcripts.formats import interviews as readers
from transcripts.formats.interviews import Content, ReadError, Reading, contents
from transcripts.jobs import runs
from transcripts.jobs.actions import cancel_job, run_job, start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import JobRun
from transcripts.refusals import Refused

commits = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _every_file_is_large(monkeypatch):
    monkeypatch.setattr(readers, "KEPT_SIZE", 0)
    monkeypatch.setattr(contents, "CHUNK_BYTES", 100)
    monkeypatch.setattr(planning, "COMPARED_CHARACTERS", 1)
    monkeypatch.setattr(actions, "SMALL_ROWS", 0)
    monkeypatch.setattr(actions, "ROWS_IN_A_GROUP", 5)
    monkeypatch.setattr(runs, "job_waiting", Signal())
    monkeypatch.setattr(storing, "rest", lambda _seconds: None)


def make_conversation(number):
    """Of an account: a question, its answer, and the same question in other words."""
    said = {"a": (None, "user", "Why?"), "b": ("a", "assistant", "It depends."), "c": (None, "user", "Why not?")}
    mapping = {
        key: {"parent": parent, "message": {"author": {"role": role}, "content": {"parts": [f"{text} ({number})"]}}}
        for key, (parent, role, text) in said.items()
    }
    return {"id": f"talk-{number}", "title": f"Talk {number}", "mapping": mapping, "current_node": "b"}


ACCOUNT = json.dumps([make_conversation(number) for number in range(5)]).encode()


def pack(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return stream.getvalue()


def list_stored(study):
    interviews = study.interviews.order_by("external_id")
    return [
        (each.external_id, list(each.turns.order_by("position").values_list("text", flat=True))) for each in interviews
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_an_account_comes_in_from_a_disk_as_from_memory(packed, study, lead, tmp_path, monkeypatch):
    data = pack({"conversations.json": ACCOUNT, "chat.html": b"<html>"}) if packed else ACCOUNT
    path = tmp_path / "export"
    path.write_bytes(data)
    other_study = start_study(slug="other", name="Other", by=lead)
    [told] = plan_imports(study=study, files=[("export", path)])
    [streamed] = import_files(study=study, files=[("export", path)], by=lead)
    monkeypatch.setattr(readers, "KEPT_SIZE", 1_000_000)
    [whole] = import_files(study=other_study, files=[("export", data)], by=lead)
    assert list_stored(study) == list_stored(other_study)
    assert len(list_stored(study)) == 10
    for report in (told, streamed):
        assert (report.sha256, report.interviews, report.turns, report.sentences, report.warnings) == (
            (whole.sha256, 10, 15, whole.sentences, whole.warnings)
        )
        assert report.preview == whole.preview
    assert Interview.objects.filter(study=study, relation="branch", hangs_on__isnull=True).count() == 0


def test_parts_of_an_export_are_read_where_they_lie(study, lead, monkeypatch):
    monkeypatch.setattr(contents, "_UNPACKED_AT_ONCE", 0)
    parts = {f"conversations-00{at}.json": json.dumps([make_conversation(at)]).encode() for at in range(3)}
    reports = import_files(study=study, files=[("export.zip", pack(parts))], by=lead)
    assert [report.interviews for report in reports] == [2, 2, 2]
    assert [report.name for report in reports] == [f"export.zip/{name}" for name in parts]


def test_what_is_known_grown_and_new_is_told_apart(study, lead):
    import_file(study=study, name="first.jsonl", data=make_file(make_line("a"), make_line("b"))[1], by=lead)
    grown = json.loads(make_line("b"))
    grown["turns"].append({"role": "interviewer", "text": "And then?"})
    file = make_file(make_line("a"), json.dumps(grown), make_line("c"), name="second.jsonl")
    [report] = import_files(study=study, files=[file], by=lead)
    assert (report.already_there, report.grown, report.grown_turns, report.interviews) == (1, 1, 1, 1)
    with pytest.raises(Refused, match=r"line 2: found an interview b whose text differs .* from turn 2 on"):
        import_files(study=study, files=[make_file(make_line("d"), make_line("b", "Other."), name="x.jsonl")], by=lead)


def test_threads_that_hang_on_one_that_is_left_out_stay_out_wherever_they_stand(study, lead):
    import_file(study=study, name="first.jsonl", data=make_line("hanging", "Other words.").encode(), by=lead)
    lines = [
        make_line("hanging", relation="branch", hangs_on={"id": "middle", "turn": 1}),
        make_line("middle", relation="branch", hangs_on={"id": "above", "turn": 1}),
        make_line("above"),
        make_line("beside"),
    ]
    [report] = import_files(
        study=study, files=[make_file(*lines)], by=lead, choices=Choices(leave_out=frozenset({"above"}))
    )
    assert (report.interviews, report.warnings[-2:]) == (
        1,
        ["Left out as chosen: 1 of 4 conversations.", "2 threads that continue from them were left out too."],
    )
    assert set(study.interviews.values_list("external_id", flat=True)) == {"hanging", "beside"}


@commits
def test_a_file_that_changes_while_it_comes_in_is_refused_and_leaves_nothing(study, lead, tmp_path, monkeypatch):
    before = count_rows()
    path = tmp_path / "interviews.jsonl"
    path.write_bytes(make_file(*(make_line(f"i{number}") for number in range(5)))[1])
    claim = storing.claim

    def claim_and_change(*given):
        claim(*given)
        path.write_bytes(make_line("another").encode())

    monkeypatch.setattr(storing, "claim", claim_and_change)
    with pytest.raises(Refused, match="found a file that was changed while it was read"):
        import_files(study=study, files=[("interviews.jsonl", path)], by=lead)
    assert count_rows() == before


def test_a_preview_leaves_the_sentences_of_a_very_large_file_to_the_import(
    study, lead, client_of, monkeypatch, tmp_path
):
    monkeypatch.setattr(planning, "COUNTED_CHARACTERS", 100)
    name, data = make_file(*(make_line(f"i{number}") for number in range(5)))
    [report] = plan_imports(study=study, files=[(name, data)])
    assert (report.interviews, report.turns, report.sentences) == (5, 10, None)
    page = client_of(lead).post(
        reverse("corpus:import", args=[study.slug]), {"uploads": SimpleUploadedFile(name, data), "check": "1"}
    )
    assert "counted during the import" in page.content.decode()
    path = tmp_path / name
    path.write_bytes(data)
    out = io.StringIO()
    call_command("interview", "import", path, study=study.slug, dry_run=True, json=True, stdout=out)
    assert json.loads(out.getvalue())["files"][0]["sentences"] is None
    call_command("interview", "import", path, study=study.slug, dry_run=True, stdout=out)
    assert "would import 5 interviews, 10 turns (read as interview_jsonl)" in out.getvalue()
    assert import_files(study=study, files=[(name, data)], by=lead)[0].sentences == 15


@commits
def test_a_worker_tells_how_much_of_the_files_it_has_read_and_can_be_stopped_there(study, lead, monkeypatch):
    monkeypatch.setattr("transcripts.jobs.runs.TELL_SECONDS", 0)
    files = [make_file(*(make_line(f"{name}{at}") for at in range(4)), name=f"{name}.jsonl") for name in "ab"]
    before = count_rows()[:4]

    def start():
        uploads = [SimpleUploadedFile(name, data) for name, data in files]
        return start_job(study=study, kind="interviews", files=uploads, by=lead)

    told = []
    tell = JobRun.tell

    def look(run, stage, done=0, total=0):
        tell(run, stage, done, total)
        if stage == planning.READING and total:
            told.append((done, total))

    monkeypatch.setattr(JobRun, "tell", look)
    job = start()
    run_job(job.pk)
    job.refresh_from_db()
    size = sum(len(data) for _, data in files)
    assert job.state == ImportJob.State.DONE
    assert {total for _, total in told} == {size}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len({done for done, _ in told}) > 4

    def cancel(run, stage, done=0, total=0):
        if stage == planning.READING and done > size // 2:
            cancel_job(job=ImportJob.objects.get(pk=run.job.pk), by=lead)
        tell(run, stage, done, total)

    monkeypatch.setattr(JobRun, "tell", cancel)
    files = [(name, data.replace(b'"id": "', b'"id": "other-')) for name, data in files]
    rows = count_rows()[:4]
    job = start()
    run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, count_rows()[:4]) == (ImportJob.State.CANCELLED, rows)
    assert rows != before


def test_a_format_that_is_read_as_a_whole_is_limited_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "large.txt"
    path.write_text("Interviewer: Why?\nModel: It depends.\n", encoding="utf-8")
    monkeypatch.setattr(contents, "MAX_WHOLE_SIZE", 20)
    monkeypatch.setattr("transcripts.formats.interviews.base.MAX_WHOLE_SIZE", 20)
    with pytest.raises(ReadError, match="text of more than 20 characters in a format that is read as a whole"):
        Reading(Content.of("large.txt", path))


def test_an_entry_of_an_archive_may_not_be_larger_than_a_file(monkeypatch):
    data = pack({"conversations.json": ACCOUNT})
    monkeypatch.setattr(contents, "MAX_FILE_SIZE", len(ACCOUNT) - 1)
    with pytest.raises(ReadError, match=r"found more than .* bytes"):
        list(Reading(Content.of("export.zip", data)))
