"""A program brings in files."""

import base64
import hashlib
import json

import pytest

from tests.transcripts.corpus.test_account_exports import TREE, make_tree, pack
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.models import Consent, Interview

pytestmark = pytest.mark.django_db
PATH = "studies/culture/interviews/"
LINE = json.dumps(
    {"id": "t1", "title": "T", "turns": [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "So."}]}
)


@pytest.fixture
def program(study, lead, program_of):
    return program_of(lead)


def send(program, **body):
    return program.post(PATH, {"name": "t.jsonl", "content": LINE, **body})


def test_a_dry_run_tells_what_would_come_in_and_stores_nothing(program):
    answer = send(program, dry_run=True)
    assert answer.status == 200
    [file] = answer.body["files"]
    assert (file["format"], file["interviews"], file["turns"], file["sentences"]) == ("interview_jsonl", 1, 2, 2)
    assert file["sha256"] == hashlib.sha256(LINE.encode()).hexdigest()
    assert file["preview"]["conversations"] == 1
    assert not Interview.objects.exists()


def test_a_file_comes_in_under_the_persons_name_and_once(program, lead):
    [file] = send(program).body["files"]
    interview = Interview.objects.get()
    assert file["interview_ids"] == [interview.pk]
    assert interview.imported_file.imported_by == lead
    assert AuditEvent.objects.filter(actor_name=lead.username, action__startswith="corpus.").exists()
    [again] = send(program).body["files"]
    assert again["skipped"]
    assert Interview.objects.count() == 1


def test_an_archive_comes_as_base64_and_what_is_left_out_stays_out(program):
    data = base64.b64encode(pack({"conversations.json": json.dumps([make_tree(*TREE)])})).decode()
    [file] = program.post(PATH, {"name": "export.zip", "base64": data, "dry_run": True}).body["files"]
    assert file["format"] == "chatgpt_export"
    branch = next(each["id"] for each in file["preview"]["listed"] if each["relation"])
    program.post(PATH, {"name": "export.zip", "base64": data, "leave_out": [branch], "model": "m-9"})
    assert Interview.objects.exists()
    assert not Interview.objects.filter(external_id=branch).exists()


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"content": "{"}, "content", "t.jsonl"),
        ({"content": '{"id": "x", "turns": [{"role": "model"}]}'}, "content", "line 1"),
        ({"base64": "e30="}, "content", "either"),
        ({"format": "nothing"}, "format", "Choose one of"),
        ({"roles": {"A": "boss"}}, "content", "boss"),
        ({"consent": ["external"]}, "content", "needs its basis"),
        ({"name": ""}, "name", ""),
    ],
)
def test_what_cannot_be_taken_is_named_and_nothing_comes_in(program, body, field, said):
    answer = send(program, **body)
    assert answer.status == 422
    assert said in str(answer.error["fields"][field])
    assert not Interview.objects.exists()
    assert not Consent.objects.exists()


def test_base64_that_is_none_is_refused(program):
    answer = program.post(PATH, {"name": "a.zip", "base64": "not base64!"})
    assert answer.status == 422
    assert list(answer.error["fields"]) == ["base64"]
