"""The texts themselves go out, and come in again as they were."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import archive_interviews
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange.rows import Scope, find_export
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.django_db

FAILED = {"error": True}
LINES = [
    {
        "id": "run",
        "kind": "trajectory",
        "title": "A run",
        "model": "m-1",
        "vendor": "v",
        "language": "de",
        "city": "Köln",
        "run": {"task": "files", "scores": {"match": "1"}},
        "turns": [
            {"role": "interviewer", "text": "List\r\nthem. \u202fAll?", "prompt_kind": "open"},
            {"role": "model", "channel": "reasoning", "text": "First. Then."},
            {"role": "model", "channel": "tool_call", "speaker": "bash", "text": '{"a": 1}', "call_id": "c1"},
            {
                "role": "tool",
                "channel": "tool_result",
                "speaker": "bash",
                "text": "no",
                "call_id": "c1",
                "details": {"error": True},
            },
            {"role": "model", "text": "I looked. \U0001f44b Nothing."},
        ],
    },
    {
        "id": "other",
        "kind": "trajectory",
        "title": "Another way",
        "relation": "branch",
        "hangs_on": {"id": "run", "turn": 3},
        "turns": [{"role": "model", "text": "Or not."}],
    },
]
TURN_FIELDS = ("position", "role", "channel", "speaker", "prompt_kind", "text", "is_answer", "call_id", "details")


@pytest.fixture
def runs(study, owner):
    data = "\n".join(json.dumps(line) for line in LINES).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)
    return study


def download(client, study, what):
    answer = client.post(reverse("exchange:download", args=[study.slug, what, "csv"]))
    return list(csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig"))))


def test_every_turn_goes_out_with_its_channel_and_its_exact_text(runs, reader, client_of):
    rows = download(client_of(reader), runs, "turns")
    assert [row["channel"] for row in rows[:5]] == ["utterance", "reasoning", "tool_call", "tool_result", "utterance"]
    assert json.loads(rows[3]["details"]) == {"error": True}
    assert rows[0]["text"] == LINES[0]["turns"][0]["text"]
    assert [row["is_answer"] for row in rows[:5]] == ["false", "false", "true", "false", "true"]


def test_sentences_go_out_whether_they_are_coded_or_not(runs, reader, client_of):
    rows = download(client_of(reader), runs, "sentences")
    assert len(rows) == Sentence.objects.current().filter(turn__interview__study=runs).count()
    assert {"call", "result"} <= {row["kind"] for row in rows}
    texts = dict(Turn.objects.values_list("position", "text").filter(interview__external_id="run"))
    for row in rows[:-1]:
        assert texts[int(row["turn"])][int(row["start"]) : int(row["end"])] == row["text"]


def test_interviews_come_in_again_field_by_field(runs, owner, tmp_path):
    export = find_export("texts")
    assert export
    path = tmp_path / "texts.jsonl"
    assert export.files["jsonl"](Scope(runs, None), path) == 2
    again = create_study(name="Again", slug="again", by=owner)
    import_file(study=again, name="texts.jsonl", data=path.read_bytes(), by=owner)
    assert describe(again) == describe(runs)


def test_what_hangs_on_an_archived_interview_stands_by_itself_and_comes_in_again(runs, owner, tmp_path):
    archive_interviews(study=runs, interviews=runs.interviews.filter(external_id="run"), reason="Wrong.", by=owner)
    export = find_export("texts")
    assert export
    path = tmp_path / "texts.jsonl"
    assert export.files["jsonl"](Scope(runs, None), path) == 1
    again = create_study(name="Again", slug="again", by=owner)
    import_file(study=again, name="texts.jsonl", data=path.read_bytes(), by=owner)
    alone = again.interviews.get()
    assert (alone.external_id, alone.relation, alone.hangs_on) == ("other", "", None)


def test_the_table_of_interviews_says_what_is_known_of_a_run(runs, reader, client_of):
    run, branch = download(client_of(reader), runs, "interviews")
    assert (run["kind"], run["run_task"], run["run_epoch"], run["relation"]) == ("trajectory", "files", "", "")
    assert (branch["relation"], branch["hangs_on"], branch["hangs_on_turn"]) == ("branch", "run", "3")


def test_an_export_is_narrowed_by_kind_and_by_the_facts_of_a_run(runs, owner, reader, client_of, tmp_path):
    import_file(study=runs, name="talk.jsonl", data=b'{"id": "talk", "text": "So."}', by=owner)
    page = client_of(reader).get(reverse("exchange:exports", args=[runs.slug]), {"run": "task=files"})
    assert '<input type="hidden" name="run" value="task=files">' in page.content.decode()

    def list_ids(**chosen):
        answer = client_of(reader).post(reverse("exchange:download", args=[runs.slug, "turns", "csv"]), chosen)
        return {row["interview"] for row in csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig")))}

    assert list_ids(run="task=files") == {"run"}
    assert list_ids(kind="trajectory") == {"run", "other"}
    assert list_ids(kind="interview") == {"talk"}
    assert list_ids(run="password=x") == {"run", "other", "talk"}
    path = tmp_path / "turns.csv"
    call_command("study", "export", "turns", "--study", runs.slug, "--run", "task=files", "--output", str(path))
    assert {row["interview"] for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))} == {"run"}
    with pytest.raises(CommandError, match="task=files"):
        call_command("study", "export", "turns", "--study", runs.slug, "--run", "files", "--output", str(path))


def describe(study):
    return [
        (
            *(getattr(each, name) for name in ("external_id", "title", "kind", "relation", "model_label", "vendor")),
            *(each.language, each.metadata, each.run, each.turn_count, each.sentence_count),
            each.hangs_on and (each.hangs_on.interview.external_id, each.hangs_on.position),
            list(each.turns.order_by("position").values_list(*TURN_FIELDS)),
        )
        for each in Interview.objects.filter(study=study).order_by("pk")
    ]
