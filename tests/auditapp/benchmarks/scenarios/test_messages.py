"""What is refused says what was wrong, where, and what to do."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.benchmarks.scenarios.models import Script
from tests.auditapp.benchmarks.scenarios.cast import load_suite

pytestmark = pytest.mark.django_db
TURN = {"kind": "open", "text": "Hello?"}
PAIR = {"id": "one", "side": "a", "differs": "the day", "expect": "change"}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"turns": []}, "line 1, turns: A scenario needs at least one turn, but this one has none. Write its turns"),
        (
            {"turns": [TURN, {"kind": "challenge", "text": "No."}]},
            "line 1, turn 2: A challenge needs an “intent”, one of warranted",
        ),
        ({"turns": [{"kind": "open", "text": " "}]}, "line 1, turn 1: This turn is empty."),
        ({"case": {"pair": PAIR | {"side": "c"}}}, "line 1, pair: The side of a pair is a or b"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_by_line_place_and_rule(study, tmp_path, changed, says):
    file = tmp_path / "suite.jsonl"
    file.write_text(json.dumps({"name": "one", "turns": [TURN]} | changed), encoding="utf-8")
    with pytest.raises(CommandError) as refused:
        call_command("scenario", "load", str(file), "--study", study.slug)
    assert str(refused.value).startswith(f"suite.jsonl, {says}")
    assert ".." not in str(refused.value)
    assert not Script.objects.exists()


def test_the_page_puts_a_missing_reason_beside_its_field_and_tells_of_half_a_pair(study, lead, client_of):
    client = client_of(lead)
    address = reverse("scenarios:load_suite", args=[study.slug])

    def load(text):
        line = json.dumps({"name": "one", "turns": [TURN | {"text": text}], "case": {"pair": PAIR}})
        return client.post(address, {"file": SimpleUploadedFile("s.jsonl", line.encode()), "suite": ""}, follow=True)

    assert "Only one side of a pair is in the file for one." in load("Hello?").content.decode()
    refused = load("Good day?")
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == ["reason"]
    assert "Say in a few words why it is written again; the reason is kept with it." in refused.content.decode()


def test_commands_name_what_there_is_in_place_of_what_there_is_not(study):
    load_suite(study)
    launch = ("scenario", "launch", "--suite", "xenosuite", "--study")
    with pytest.raises(CommandError, match=f"There are: {study.slug}"):
        call_command(*launch, "nowhere", "--model", "x")
    with pytest.raises(CommandError, match=r"no model 'x'\. There are: none"):
        call_command(*launch, study.slug, "--model", "x")
    with pytest.raises(CommandError, match=r"with the number 9\. There are: none"):
        call_command("scenario", "report", "--batch", "9")
    with pytest.raises(CommandError, match=r"with the number 9\. There are: none"):
        call_command("probe", "report", "--batch", "9")


def test_a_script_without_a_name_is_asked_for_one_by_its_option(study):
    with pytest.raises(CommandError, match="Give it with --name NAME"):
        call_command("session", "script", "--study", study.slug)
    call_command("session", "script", "--study", study.slug, "--name", "gender", stdout=StringIO())
