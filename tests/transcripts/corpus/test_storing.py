"""A large import comes in by parts that nobody sees until it is whole, and others write between them."""

import datetime
import signal

import pytest
from django.db import connection
from django.utils import timezone

from tests.support.databases import is_postgres
from tests.transcripts.corpus.test_actions import count_rows, make_file, make_line
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus import actions, storing
from transcripts.corpus.actions import import_file, import_files
from transcripts.corpus.models import ImportedFile, Sentence, Turn
from transcripts.formats import interviews as readers
from transcripts.refusals import Refused

FILE = make_file(*(make_line(f"i{number}", consent={"quotation": True}) for number in range(5)))

commits = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _every_import_is_large(monkeypatch):
    monkeypatch.setattr(actions, "SMALL_ROWS", 0)
    monkeypatch.setattr(readers, "KEPT_SIZE", 0)
    monkeypatch.setattr(actions, "ROWS_IN_A_GROUP", 8)
    monkeypatch.setattr(storing, "ROWS_AT_A_TIME", 3)


@pytest.fixture
def at_each_pause(transactional_db, monkeypatch):
    """Has a function called between the parts of an import."""

    def call(function):
        monkeypatch.setattr(storing, "rest", lambda _seconds: function())

    return call


@commits
def test_nothing_is_seen_before_everything_is(study, lead, at_each_pause):
    seen = []
    at_each_pause(
        lambda: seen.append(
            (
                study.interviews.count(),
                Sentence.objects.filter(turn__interview__study=study).count(),
                AuditEvent.objects.filter(action="corpus.file.imported").count(),
                connection.in_atomic_block,
            )
        )
    )
    report = import_file(study=study, name=FILE[0], data=FILE[1], by=lead)
    assert len(seen) > 8
    assert set(seen) == {(0, 0, 0, False)}
    assert list(study.interviews.values_list("pk", flat=True)) == report.interview_ids
    assert Sentence.objects.filter(turn__interview__study=study).count() == report.sentences == 15
    assert list(
        Sentence.objects.filter(turn__interview=report.interview_ids[3]).values_list("position", flat=True)
    ) == [
        1,
        2,
        3,
    ]
    assert AuditEvent.objects.get(action="corpus.file.imported").details["consents"] == 5
    assert ImportedFile.objects.get().state == ImportedFile.State.STORED


@commits
def test_an_id_that_came_in_meanwhile_keeps_all_of_it_out(study, lead, at_each_pause, monkeypatch):
    def import_other():
        at_each_pause(lambda: None)
        monkeypatch.setattr(actions, "SMALL_ROWS", 100)
        import_file(study=study, name="other.jsonl", data=make_line("i4", "Another text.").encode(), by=lead)

    at_each_pause(import_other)
    with pytest.raises(Refused, match="another import stored interviews of these files, such as i4"):
        import_file(study=study, name=FILE[0], data=FILE[1], by=lead)
    assert count_rows()[:4] == [1, 1, 2, 2]


@commits
def test_an_error_in_the_middle_leaves_nothing(study, lead, at_each_pause):
    before = count_rows()

    def fail():
        if Sentence.objects.count() > 5:
            at_each_pause(lambda: None)
            raise OSError("The disk is full.")

    at_each_pause(fail)
    with pytest.raises(OSError, match="full"):
        import_files(study=study, files=[FILE, make_file(make_line("z"), name="z.jsonl")], by=lead)
    assert count_rows() == before


@commits
def test_the_same_file_waits_for_the_import_of_somebody_else(study, lead, owner, at_each_pause):
    refused = []

    def import_again():
        at_each_pause(lambda: None)
        with pytest.raises(Refused) as caught:
            import_file(study=study, name="again.jsonl", data=FILE[1], by=owner)
        refused.append(str(caught.value))

    at_each_pause(import_again)
    assert import_file(study=study, name=FILE[0], data=FILE[1], by=lead).created
    assert "already being imported by lead" in refused[0]


@commits
def test_an_import_that_was_given_up_stores_nothing_more(study, lead, at_each_pause):
    def sleep_long():
        if Turn.objects.count() > 3:
            at_each_pause(lambda: None)
            ImportedFile.objects.update(touched_at=timezone.now() - datetime.timedelta(hours=1))
            storing.remove_abandoned()

    at_each_pause(sleep_long)
    with pytest.raises(Refused, match="paused for many minutes"):
        import_file(study=study, name=FILE[0], data=FILE[1], by=lead)
    assert count_rows()[:4] == [0, 0, 0, 0]


# Dies between two parts, when some sentences are stored.
KILLED = """
import os, signal, sys
from pathlib import Path
from transcripts.audit_trail import trail
from transcripts.corpus import actions, storing
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study
actions.SMALL_ROWS, storing.ROWS_AT_A_TIME = 0, 3
def die(seconds):
    if Sentence.objects.count() > 5:
        os.kill(os.getpid(), signal.SIGKILL)
storing.rest = die
actions.import_file(
    study=Study.objects.get(), name="i.jsonl", data=Path(os.environ["FILE"]).read_bytes(), by=trail.SYSTEM
)
"""


@pytest.mark.processes
def test_a_killed_import_leaves_nothing_to_see_and_can_be_repeated(instance, tmp_path):
    instance.manage("study", "create", "culture", "--name", "Culture")
    file = tmp_path / "interviews.jsonl"
    file.write_bytes(FILE[1])
    assert instance.start_code(KILLED, FILE=str(file)).wait(60) == -signal.SIGKILL
    assert instance.query("SELECT count(*) FROM corpus_sentence")[0][0] > 5
    assert instance.query("SELECT count(*) FROM corpus_interview WHERE study_id IS NOT NULL") == [(0,)]
    assert "10 minutes later" in instance.manage("interview", "import", str(file), "--study", "culture", fails=True)
    instance.write(["UPDATE corpus_importedfile SET touched_at = '2020-01-01 00:00:00'"])
    instance.manage("interview", "import", str(file), "--study", "culture")
    assert instance.query("SELECT state FROM corpus_importedfile") == [("stored",)]
    assert instance.query("SELECT count(*) FROM corpus_interview WHERE study_id IS NOT NULL") == [(5,)]
    assert instance.query("SELECT count(*) FROM corpus_sentence") == [(15,)]


@pytest.mark.skipif(is_postgres(), reason="PostgreSQL chooses by what a table holds, and in tests it holds little")
@pytest.mark.django_db
@pytest.mark.parametrize("model", [Turn, Sentence], ids=lambda model: model.__name__)
def test_a_row_that_is_removed_is_looked_up_by_an_index_wherever_it_may_be_named(model):
    """Else the removal of what a killed import left has the database read a large table once for each row."""
    named_rarely = {"corpus_interviewchange"}
    fields = [relation.field for relation in model._meta.related_objects if not relation.many_to_many]
    places = {
        (field.model._meta.db_table, field.column) for field in fields if field.model._meta.db_table not in named_rarely
    }
    assert places
    with connection.cursor() as cursor:
        for table, column in sorted(places):
            cursor.execute(f'EXPLAIN QUERY PLAN SELECT 1 FROM "{table}" WHERE "{column}" = 1')
            assert all("SEARCH" in step for *_, step in cursor.fetchall()), (table, column)
