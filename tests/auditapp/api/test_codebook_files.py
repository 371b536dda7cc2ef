"""A program brings a codebook in and publishes it."""

import pytest
from django.db import connection

from auditapp.api import codebook
from transcripts.codebook.models import CodebookVersion, CodeChange
from transcripts.codebook.queries import current_version

pytestmark = pytest.mark.django_db
PATH = "studies/culture/codebook/"
COLUMNS = "code_id,family,family_name,name,definition,machine_definition,include,exclude,key,group,unit,aliases,source,version"
TABLE = f"{COLUMNS}\ntone.calm,tone,Tone,Calm,Says it calmly.,,,,,,sentence,,,\n"


@pytest.fixture
def program(study, lead, program_of):
    return program_of(lead)


def send(program, **fields):
    return program.post(PATH, {"name": "tone.csv", "content": TABLE, "keep_missing": True, **fields})


def test_a_dry_run_says_what_would_change_and_stores_nothing(program, study):
    answer = send(program, dry_run=True)
    assert (answer.status, answer.body["format"], answer.body["added"]) == (200, "csv", ["tone.calm"])
    assert answer.body["version"] is None
    assert answer.body["retired"] == []
    assert study.codebook_versions.count() == 1


def test_a_file_becomes_a_draft_which_is_published_and_coded_with(program, study):
    draft = send(program).body["version"]
    assert (draft["number"], draft["status"]) == (2, "draft")
    assert program.post(f"{PATH}versions/2/publish/").body["status"] == "published"
    current = current_version(study)
    assert current is not None
    assert current.number == 2
    assert current.codes.filter(identifier="tone.calm").exists()
    assert [row["number"] for row in program.get(f"{PATH}versions/").body["results"]] == [2, 1]
    assert send(program).body["is_new"] is False


def test_the_effect_of_a_new_wording_is_what_was_said(program):
    send(program)
    program.post(f"{PATH}versions/2/publish/")
    answer = send(program, content=TABLE.replace("calmly", "very calmly"), effects={"tone.calm": "narrowing"})
    assert (answer.body["reworded"], answer.body["changed"], answer.body["added"]) == (["tone.calm"], ["tone.calm"], [])
    assert CodeChange.objects.get(version__number=3).effect == "narrowing"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": "code_id,name\n"}, "content"),
        ({"content": "{"}, "content"),
        ({"effects": {"tone.calm": "better"}}, "effects"),
        ({"base64": "?", "content": None}, "content"),
    ],
)
def test_a_file_with_a_fault_is_refused_whole(program, fields, field):
    answer = send(program, **fields)
    assert answer.status == 422
    assert list(answer.error["fields"]) == [field]
    assert CodebookVersion.objects.count() == 1


def test_a_version_that_is_not_there_or_discarded_is_not_published(program):
    assert program.post(f"{PATH}versions/9/publish/").status == 404
    send(program)
    CodebookVersion.objects.filter(number=2).update(status=CodebookVersion.Status.DISCARDED)
    assert program.post(f"{PATH}versions/2/publish/").status == 409


def test_a_coder_brings_no_codebook_in(coder, study, program_of):
    assert send(program_of(coder)).status == 403
    assert study.codebook_versions.count() == 1


def test_what_the_answer_compares_with_is_what_is_stored_upon(program, monkeypatch):
    """Both look at the latest version within one transaction, so that nobody stores another in between."""
    blocks = []
    for name in ("plan_import", "import_codebook"):
        act = getattr(codebook, name)

        def within(*given, _act=act, **named):
            blocks.append(
                [block for block in connection.atomic_blocks if not getattr(block, "_from_testcase", False)][:1]
            )
            return _act(*given, **named)

        monkeypatch.setattr(codebook, name, within)
    send(program)
    planned, stored = blocks
    assert planned
    assert planned == stored
