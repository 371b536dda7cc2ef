"""A trajectory at the desk: calls with their results, reasoning that is closed, and threads that hang on one another."""

import json
import re

import pytest
from django.urls import reverse

from tests.transcripts.desk.desk_pages import address, read
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import StageOpening
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview

pytestmark = pytest.mark.django_db

AT = "2026-03-01T10:00:05+00:00"
CALL = {"command": "ls -la\ncat notes.txt", "limit": 5}
TURNS = [
    {"role": "interviewer", "text": "List the files."},
    {"role": "model", "channel": "reasoning", "text": "A secret thought. Then another."},
    {
        "role": "model",
        "channel": "tool_call",
        "speaker": "bash",
        "text": json.dumps(CALL),
        "call_id": "c1",
        "details": {"at": AT, "model": "m-2", "tokens": {"input": 1200, "output": 30}},
    },
    {"role": "model", "text": "I looked."},
    {
        "role": "tool",
        "channel": "tool_result",
        "speaker": "bash",
        "text": "<script>alert(1)</script> no such file",
        "call_id": "c1",
        "details": {"error": "exit code 2"},
    },
]
BRANCH = [{"role": "interviewer", "text": "Look again."}, {"role": "model", "text": "I looked twice."}]


@pytest.fixture
def run(study, owner):
    lines = [
        {"id": "run", "kind": "trajectory", "title": "A run", "turns": TURNS},
        {
            "id": "other",
            "kind": "trajectory",
            "title": "Another way",
            "relation": "branch",
            "hangs_on": {"id": "run", "turn": 4},
            "turns": BRANCH,
        },
    ]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)
    return Interview.objects.get(external_id="run")


def turn_of(run, position):
    return run.turns.get(position=position)


def test_a_call_stands_with_its_arguments_and_its_result(run, coder, client_of):
    html = read(client_of(coder).get(address("desk", run)))
    card = html[html.index('id="turn-3"') : html.index('id="turn-4"')]
    assert "bash" in card
    assert "<dt><bdi>command</bdi></dt><dd><pre><bdi>ls -la\ncat notes.txt</bdi></pre></dd>" in card
    assert "<dt><bdi>limit</bdi></dt><dd><pre><bdi>5</bdi></pre></dd>" in card
    assert "1 Mar 2026, 10:00:05 UTC" in card
    assert "m-2" in card
    assert "1,200 tokens in" in card
    assert 'id="turn-5"' in card, "the result is in the card of its call though words stand between them"
    assert "error: exit code 2" in card
    assert "&lt;script&gt;" in card
    assert "<script>alert" not in html


def test_the_outline_leads_to_each_call_and_marks_what_failed(run, coder, client_of):
    html = read(client_of(coder).get(address("desk", run)))
    step = re.search(r'<ol class="steps".*?</ol>', html, re.DOTALL)
    assert step
    assert 'href="#turn-3"' in step[0]
    assert "error" in step[0]


def test_reasoning_is_left_out_until_she_opens_it_and_that_is_kept(run, coder, owner, client_of):
    client = client_of(coder)
    assert "A secret thought." not in read(client.get(address("desk", run)))
    answer = client.post(address("open", run), {"turn": turn_of(run, 2).pk})
    assert answer.status_code == 303
    assert "A secret thought." in read(client.get(answer["Location"].partition("#")[0]))
    client.post(address("open", run), {"turn": turn_of(run, 2).pk})
    opening = StageOpening.objects.get()
    assert (opening.turn.position, opening.coder) == (2, coder)
    assert AuditEvent.objects.filter(action="coding.reasoning.opened").count() == 1
    assert "A secret thought." not in read(client_of(owner).get(address("desk", run)))


def test_a_link_to_closed_reasoning_says_where_it_opens(run, coder, client_of):
    sentence = turn_of(run, 2).sentences.first()
    assert sentence
    html = read(client_of(coder).get(address("desk", run), {"at": sentence.pk}))
    assert "which you have not opened" in html
    assert "A secret thought." not in html


@pytest.mark.parametrize("position", [1, 3, 4, 5])
def test_only_reasoning_is_opened(run, coder, client_of, position):
    answer = client_of(coder).post(address("open", run), {"turn": turn_of(run, position).pk}, headers={"X-Desk": "1"})
    assert answer.status_code == 409
    assert not StageOpening.objects.exists()


@pytest.mark.parametrize("sent", [{}, {"turn": "x"}, {"turn": "999999"}])
def test_an_opening_names_a_turn_of_this_interview(run, interview, coder, client_of, sent):
    client = client_of(coder)
    assert client.post(address("open", run), sent, headers={"X-Desk": "1"}).status_code in {404, 422}
    elsewhere = client.post(address("open", interview), {"turn": turn_of(run, 2).pk})
    assert elsewhere.status_code == 404
    assert not StageOpening.objects.exists()


def test_threads_are_linked_both_ways_with_the_beginning_that_they_share(run, coder, client_of):
    other = Interview.objects.get(external_id="other")
    client = client_of(coder)
    assert address("desk", other) in read(client.get(address("desk", run)))
    html = read(client.get(address("desk", other)))
    assert f'{address("desk", run)}#turn-4"' in html
    beginning = html[html.index('class="beginning"') : html.index('id="turn-1"')]
    assert "List the files." in beginning
    assert "I looked." in beginning
    assert "no such file" not in beginning, "what came after the turn is not shared"
    assert "A secret thought." not in beginning


def test_two_threads_are_read_side_by_side(run, coder, outsider, client_of, study):
    other = Interview.objects.get(external_id="other")
    url = reverse("desk:beside", args=[study.slug, run.pk, other.pk])
    html = read(client_of(coder).get(url))
    assert "I looked." in html
    assert "I looked twice." in html
    assert "A secret thought." not in html
    assert client_of(outsider).get(url).status_code == 404
    assert client_of(coder).get(reverse("desk:beside", args=[study.slug, run.pk, 999999])).status_code == 404


def test_hidden_characters_are_badged_wherever_the_run_is_read(study, owner, coder, client_of):
    turns = [
        {"role": "interviewer", "text": "Turn\u202eround."},
        {"role": "model", "channel": "tool_call", "text": json.dumps({"q": "a\u200bb"}), "call_id": "c"},
        {
            "role": "tool",
            "channel": "tool_result",
            "text": "\x1b[31mred",
            "call_id": "c",
            "details": {"error": "no\u2066pe"},
        },
        {"role": "model", "text": "Done\u00ad, **and\u202e bold**."},
    ]
    line = json.dumps({"id": "odd", "kind": "trajectory", "title": "Odd", "turns": turns})
    import_file(study=study, name="odd.jsonl", data=line.encode(), by=owner)
    run = Interview.objects.get(external_id="odd")
    url = reverse("desk:beside", args=[study.slug, run.pk, run.pk])
    for html in (read(client_of(coder).get(address("desk", run))), read(client_of(coder).get(url))):
        found = set(re.findall(r'data-point="(U\+[0-9A-F]+)"', html))
        assert {"U+202E", "U+001B", "U+2066", "U+00AD"} <= found
    assert 'data-point="U+200B"' in read(client_of(coder).get(address("desk", run))), "in the arguments, laid out"
