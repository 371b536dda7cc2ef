"""The import of a file is undone while nobody has worked with what it brought, and then the file can come in again."""

import json

import pytest
from django.apps import apps
from django.urls import reverse

from tests.transcripts.coding.cast import decide, find_code, put, take_off
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import PLANS, UndoRefused, archive_interviews, count_work, undo_import
from transcripts.corpus.models import ImportedFile, Interview, Sentence, Standing, Turn

DATA = json.dumps(
    {"id": "i9", "title": "Wrong chat", "turns": [{"role": "model", "text": "It depends. Ask."}]}
).encode()


@pytest.fixture
def file(study, owner):
    import_file(study=study, name="wrong.jsonl", data=DATA, by=owner)
    return ImportedFile.objects.get(study=study, name="wrong.jsonl")


def first_sentence(file):
    return Sentence.objects.select_related("turn").filter(turn__interview__imported_file=file)[0]


def test_undone_interviews_are_in_no_list_and_no_archive_and_their_rows_stay(file, study, owner):
    assert undo_import(file=file, by=owner) == 1
    assert not study.interviews.exists()
    assert not study.every_interview.kept().exists()
    assert Turn.objects.filter(interview__imported_file=file).exists()
    event = AuditEvent.objects.get(action="corpus.import.undone")
    assert event.details["interviews"] == [Interview.objects.get().pk]


def test_the_same_file_can_be_imported_and_undone_again(file, study, owner):
    for _ in range(2):
        undo_import(file=file, by=owner)
        assert import_file(study=study, name="wrong.jsonl", data=DATA, by=owner).created
        file = ImportedFile.objects.get(state="stored")
    assert study.interviews.count() == 1
    assert import_file(study=study, name="wrong.jsonl", data=DATA, by=owner).skipped


def test_an_archived_interview_is_undone_with_its_file(file, study, owner):
    archive_interviews(study=study, interviews=Interview.objects.all(), reason="x", by=owner)
    undo_import(file=file, by=owner)
    assert Interview.objects.get().standing == Standing.UNDONE


def test_work_forbids_it_even_when_it_was_withdrawn_and_nothing_changes(file, study, owner, coder, second_coder):
    sentence = first_sentence(file)
    take_off(put(sentence, find_code(study, "theme.balance"), coder), coder)
    decide(sentence, second_coder)
    with pytest.raises(UndoRefused) as refused:
        undo_import(file=file, by=owner)
    assert refused.value.work == [("coder", "Wrong chat", 1), ("second_coder", "Wrong chat", 1)]
    assert study.interviews.count() == 1
    assert ImportedFile.objects.get().state == "stored"


def test_the_page_names_who_worked_where_and_no_label(file, study, lead, coder, client_of):
    code = find_code(study, "theme.balance")
    put(first_sentence(file), code, coder)
    path = reverse("corpus:undo", args=[study.slug, file.pk])
    for answer in (client_of(lead).get(path), client_of(lead).post(path)):
        page = answer.content.decode()
        assert "cannot be undone" in page
        assert ">coder<" in page
        assert code.name not in page
        assert code.identifier not in page
    assert study.interviews.count() == 1


def test_one_click_and_a_confirmation_undo_an_import(file, study, lead, client_of):
    client = client_of(lead)
    path = reverse("corpus:undo", args=[study.slug, file.pk])
    assert path in client.get(reverse("corpus:files", args=[study.slug])).content.decode()
    assert "Wrong chat" in client.get(path).content.decode()
    assert "is undone" in client.post(path, follow=True).content.decode()
    assert client.get(path).status_code == 404
    assert not study.interviews.exists()


def test_an_import_nobody_worked_with_has_no_work(file):
    assert count_work(file) == []
    assert all(apps.get_model(label) for label in PLANS)
