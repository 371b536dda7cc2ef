"""A study begins with the built-in codebook, an empty one or one of its own, and with a method."""

import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from tests.transcripts.codebook.test_actions import make_file
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.queries import current_version, find_open_draft
from transcripts.formats.codebook_csv import CodeRow
from transcripts.studies.models import Study
from transcripts.studies.queries import find_method

START = "/new-study/"
OWN = make_file([CodeRow(code_id="tone.warm", family="tone", family_name="Tone", name="Warm", definition="Friendly.")])


def start(client, data=None, name="own.csv", **fields):
    """Send the form: the new study, or the page that says what is wrong."""
    sent = {"name": "My study", **fields}
    if data is not None:
        sent["file"] = SimpleUploadedFile(name, data)
    before = set(Study.objects.values_list("pk", flat=True))
    answer = client.post(START, sent)
    if answer.status_code == 302:
        return Study.objects.exclude(pk__in=before).get()
    assert answer.status_code == 422
    assert set(Study.objects.values_list("pk", flat=True)) == before, "nothing half-made stays"
    return answer.content.decode()


@pytest.fixture
def client(owner, client_of):
    owner.may_start_studies = True
    owner.save()
    return client_of(owner)


def test_without_a_choice_it_is_the_built_in_codebook_read_reflexively(client):
    study = start(client)
    assert isinstance(study, Study)
    version = current_version(study)
    assert version is not None
    assert version.codes.filter(identifier="theme.balance").exists()
    assert (find_method(study), find_method(study, "moves")) == ("reflexive", "codebook")


def test_a_codebook_of_ones_own_is_published_and_nothing_else_is_in_it(client):
    study = start(client, OWN, method="reliability")
    assert isinstance(study, Study)
    version = current_version(study)
    assert version is not None
    assert [code.identifier for code in version.codes.all()] == ["tone.warm"]
    assert (find_method(study), find_method(study, "moves")) == ("reliability", "reliability")
    assert AuditEvent.objects.filter(stream=f"study:{study.pk}", action__startswith="codebook.").exists()


def test_an_empty_codebook_is_a_draft_that_can_be_filled(client):
    study = start(client, codebook="empty")
    assert isinstance(study, Study)
    draft = find_open_draft(study)
    assert current_version(study) is None
    assert draft is not None
    assert draft.codes.count() == 0
    assert client.get(f"/studies/{study.slug}/").status_code == 200
    assert client.get(f"/studies/{study.slug}/codebook/").status_code == 200
    assert client.get(f"/studies/{study.slug}/interviews/").status_code == 200


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no,such,columns\n1,2,3\n", "columns"),
        (b"", "empty"),
        (b"\xff\xfe\x00", "a mark of UTF-16"),
    ],
)
def test_a_file_that_is_no_codebook_is_refused_and_leaves_no_study(client, data, words):
    page = start(client, data)
    assert isinstance(page, str)
    assert words in page


def test_a_file_that_was_promised_is_asked_for(client):
    page = start(client, codebook="file")
    assert isinstance(page, str)
    assert "Choose the file of the codebook" in page


def test_the_command_does_the_same(db, tmp_path):
    file = tmp_path / "own.csv"
    file.write_bytes(OWN)
    out = io.StringIO()
    call_command(
        "study", "create", "own", "--name=Own", f"--codebook={file}", "--method=codebook", "--json", stdout=out
    )
    assert json.loads(out.getvalue())["codes"] == 1
    assert find_method(Study.objects.get(slug="own")) == "codebook"
    call_command("study", "create", "empty", "--name=Empty", "--codebook=empty", stdout=io.StringIO())
    file.write_bytes(b"nothing")
    for given in (str(file), str(tmp_path / "missing.csv")):
        with pytest.raises(CommandError):
            call_command("study", "create", "bad", "--name=Bad", f"--codebook={given}")
    assert not Study.objects.filter(slug="bad").exists()


def test_nothing_is_cleared_where_no_file_was(client):
    assert client.post(START, {"name": "My study", "file-clear": "1"}).status_code == 302
