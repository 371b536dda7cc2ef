"""Trajectories with codings, and as a log of Inspect."""

import json
import re
import uuid

import pytest
from django.urls import reverse

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.exchange.test_texts import LINES
from transcripts.coding.actions import decide_sentence
from transcripts.coding.models import Unblinding
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import archive_interviews
from transcripts.corpus.models import Sentence
from transcripts.exchange.rows import Scope, find_export, name_file
from transcripts.formats.interviews import read_bytes
from transcripts.formats.interviews.inspect_log import FORMAT

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(study, owner):
    data = "\n".join(json.dumps(line) for line in LINES).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)
    return study


@pytest.fixture
def coded(runs, coder):
    sentence = Sentence.objects.get(turn__interview__external_id="run", kind="call")
    decide_sentence(study=runs, sentence=sentence, by=coder, idempotency_key=uuid.uuid4())
    return put(sentence, find_code(runs, "theme.balance"), coder)


def write(what, format, scope, path):
    export = find_export(what)
    assert export
    return export.files[format](scope, path)


def read_records(study, path, only=None):
    written = write("trajectories", "jsonl", Scope(study, only), path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == written
    kinds = ("thread", "turn", "coding", "link", "decided", "case_sheet", "pair", "stance", "score")
    assert {line["record"] for line in lines} <= set(kinds)
    return {kind: [line for line in lines if line["record"] == kind] for kind in kinds}


class TestTrajectories:
    def test_threads_turns_and_stages_can_be_rebuilt(self, runs, tmp_path):
        records = read_records(runs, tmp_path / "x.jsonl")
        threads = {each["id"]: each for each in records["thread"]}
        assert (threads["other"]["relation"], threads["other"]["hangs_on"]) == ("branch", {"thread": "run", "turn": 3})
        assert threads["run"]["run"] == LINES[0]["run"]
        turns = [each for each in records["turn"] if each["thread"] == "run"]
        assert [(each["position"], each["text"]) for each in turns] == [
            (place, turn["text"]) for place, turn in enumerate(LINES[0]["turns"], 1)
        ]
        assert [each["stage"] for each in turns] == [None, "back", "tool", "tool", "front"]
        assert [each["call"] for each in turns] == [None, None, None, 3, None]

    def test_a_coding_names_its_coder_blinding_code_and_place(self, coded, runs, tmp_path):
        records = read_records(runs, tmp_path / "x.jsonl")
        [coding] = records["coding"]
        wanted = {
            "thread": "run",
            "turn": 3,
            "code_id": "theme.balance",
            "coder": "coder",
            "blinding": "blind",
            "start": 0,
        }
        assert {name: coding[name] for name in wanted} == wanted
        assert coding["attributes"] == {}
        [decided] = [each for each in records["decided"] if "decision_id" in each]
        assert (decided["thread"], decided["turn"], decided["coder"]) == ("run", 3, "coder")
        assert decided["sentence_id"] == coding["sentence_id"]

    def test_somebody_elses_codings_are_not_among_ones_own_rows(self, coded, runs, second_coder, tmp_path):
        records = read_records(runs, tmp_path / "x.jsonl", second_coder)
        assert (records["coding"], records["decided"]) == ([], [])
        assert records["turn"]

    def test_a_coder_gets_her_own_and_a_lead_is_asked_first(self, coded, runs, second_coder, lead, client_of):
        address = reverse("exchange:download", args=[runs.slug, "trajectories", "jsonl"])
        assert b'"record":"coding"' not in b"".join(client_of(second_coder).post(address))
        client = client_of(lead)
        assert client.post(address).status_code == 409
        assert not Unblinding.objects.exists()
        assert b'"record":"coding"' in b"".join(client.post(address, {"rows": "all"}))
        assert Unblinding.objects.get(user=lead).interview == coded.sentence.turn.interview

    def test_what_hangs_on_an_archived_thread_stands_by_itself(self, runs, owner, tmp_path):
        parent = runs.interviews.filter(external_id="run")
        archive_interviews(study=runs, interviews=parent, reason="Wrong.", by=owner)
        threads = {each["id"]: each for each in read_records(runs, tmp_path / "x.jsonl")["thread"]}
        assert "run" not in threads
        assert (threads["other"]["relation"], threads["other"]["hangs_on"]) == ("", None)


class TestInspectLog:
    def test_our_reader_takes_back_every_turn_with_its_role_channel_and_text(self, runs, tmp_path):
        path = tmp_path / "log.json"
        written = write("inspect_log", "json", Scope(runs, None), path)
        read = read_bytes(path.read_bytes(), name="log.json")
        assert read.format == FORMAT
        assert len(read.interviews) == written == runs.interviews.count()
        for again, interview in zip(read.interviews, runs.interviews.order_by("pk"), strict=True):
            kept = ("role", "channel", "text", "call_id")
            turns = list(interview.turns.order_by("position").values_list(*kept))
            assert [tuple(getattr(turn, name) for name in kept) for turn in again.turns] == turns
            assert again.metadata["title"] == interview.title
            assert again.external_id == f"{runs.slug}-{interview.external_id}-1"

    def test_it_says_where_a_thread_hangs_and_has_the_runs_scores(self, runs, tmp_path):
        write("inspect_log", "json", Scope(runs, None), tmp_path / "log.json")
        samples = {each["id"]: each for each in json.loads((tmp_path / "log.json").read_text())["samples"]}
        assert samples["other"]["metadata"]["hangs_on"] == {"sample": "run", "turn": 3}
        assert samples["run"]["scores"] == {"match": {"value": "1"}}
        first, second, *_ = (each for each in samples["run"]["messages"] if each["role"] != "user")
        assert [part["type"] for part in first["content"]] == ["reasoning"]
        assert first["tool_calls"] == [{"id": "c1", "function": "bash", "arguments": {"a": 1}, "type": "function"}]
        assert (second["role"], second["tool_call_id"], second["function"]) == ("tool", "c1", "bash")

    def test_every_message_has_an_id_of_its_own(self, runs, tmp_path):
        """inspect_ai.analysis.messages_df wants the column."""
        write("inspect_log", "json", Scope(runs, None), tmp_path / "log.json")
        samples = json.loads((tmp_path / "log.json").read_text())["samples"]
        ids = [message["id"] for sample in samples for message in sample["messages"]]
        assert len(set(ids)) == len(ids) == 5
        assert ids[0] == "run-1"
        # The data frame is made from the calls to models among the events.
        for sample in samples:
            [event] = sample["events"]
            answered = [choice["message"] for choice in event["output"]["choices"]]
            assert [*event["input"], *answered] == sample["messages"]
            assert not answered or answered == sample["messages"][-1:]

    def test_its_name_begins_with_a_time_without_which_inspect_does_not_find_it(self, runs):
        export = find_export("inspect_log")
        assert export
        name = name_file(export, Scope(runs, None), "json")
        assert re.match(r"\d{4}-\d{2}-\d{2}T\d{2}[:-]\d{2}[:-]\d{2}.*_.*-inspect_log\.json\Z", name)
        assert name == name_file(export, Scope(runs, None), "json")
        assert ":" not in name

    def test_the_kind_of_a_tools_error_goes_out_and_comes_back(self, study, owner, tmp_path):
        def fail(number, **error):
            details = {"error": "It took 5 s.", **error}
            return {"role": "tool", "channel": "tool_result", "speaker": "sh", "text": str(number), "details": details}

        turns = [fail(1, error_type="timeout"), fail(2, error_type="of our own"), fail(3)]
        line = {"id": "odd", "kind": "trajectory", "turns": turns}
        import_file(study=study, name="odd.jsonl", data=json.dumps(line).encode(), by=owner)
        write("inspect_log", "json", Scope(study, None), tmp_path / "log.json")
        data = (tmp_path / "log.json").read_bytes()
        [odd] = [each for each in json.loads(data)["samples"] if each["id"] == "odd"]
        assert [message["error"]["type"] for message in odd["messages"]] == ["timeout", "unknown", "unknown"]
        [again] = [each for each in read_bytes(data, name="log.json").interviews if each.run["sample"] == "odd"]
        assert [turn.details.get("error_type") for turn in again.turns] == ["timeout", None, None]
        assert {turn.details["error"] for turn in again.turns} == {"It took 5 s."}

    def test_no_coding_is_in_it(self, coded, runs, tmp_path):
        write("inspect_log", "json", Scope(runs, None), tmp_path / "log.json")
        assert "theme.balance" not in (tmp_path / "log.json").read_text()

    def test_arguments_that_are_no_object_are_one_argument(self, study, owner, tmp_path):
        turns = [{"role": "model", "channel": "tool_call", "speaker": "sh", "text": "ls -l"}]
        line = {"id": "odd", "kind": "trajectory", "turns": turns}
        import_file(study=study, name="odd.jsonl", data=json.dumps(line).encode(), by=owner)
        write("inspect_log", "json", Scope(study, None), tmp_path / "log.json")
        samples = {each["id"]: each for each in json.loads((tmp_path / "log.json").read_text())["samples"]}
        [call] = samples["odd"]["messages"][0]["tool_calls"]
        assert (call["arguments"], call["id"]) == ({"input": "ls -l"}, "call-1")
