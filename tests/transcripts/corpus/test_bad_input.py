"""Bad input, row by row of the design: what is refused whole with file, place, found and expected; what is kept and told."""

import io
import json
import sys

import pytest

from tests.transcripts.corpus import told
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import ImportedFile, Interview, Turn
from transcripts.formats.interviews import ReadError, read_bytes
from transcripts.formats.interviews.chat_content import pair_results
from transcripts.refusals import Refused

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile


def write(content):
    return json.dumps(content).encode()


def pack(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return stream.getvalue()


def nest(levels):
    return '{"a":' * levels + "1" + "}" * levels


def make_gap():
    run = told.tell_as_atif()
    run["steps"][3]["step_id"] = 7
    return run


MESSAGE = '{"role": "user", "content": "Hi"}'
LOG = told.tell_as_inspect()
HEAD = {key: value for key, value in LOG.items() if key != "samples"}
REFUSED = {
    "a gap in the numbers of steps": ("a.json", lambda: write(make_gap()), "a.json, line 1: found step 7", "step 4"),
    "steps without a number": (
        "a.json",
        lambda: write({"agent": {}, "steps": [{"source": "user", "message": "Hi"}]}),
        "a.json, line 1: found no number of step 1",
        "no gaps",
    ),
    "an unknown role": (
        "a.jsonl",
        lambda: bytes(f'{{"messages": [{MESSAGE}]}}\n{{"messages": [{MESSAGE.replace("user", "narrator")}]}}', "utf-8"),
        'a.jsonl, line 2: found the role "narrator" in message 1',
        "assistant",
    ),
    "an unknown role in a list": (
        "a.json",
        lambda: bytes(f"[{MESSAGE}, {MESSAGE.replace('user', 'narrator')}]", "utf-8"),
        'a.json, line 1: found the role "narrator" in message 2',
        "assistant",
    ),
    "an unknown speaker": (
        "a.json",
        lambda: write([{"conversations": [{"from": "narrator", "value": "Hi"}]}]),
        'a.json, line 1: found "narrator" as the speaker of turn 1',
        "human",
    ),
    "an unknown role in a log": (
        "a.json",
        lambda: write(told.tell_as_inspect(messages=[{"role": "narrator", "content": "Hi"}])),
        'a.json, line 1: found the role "narrator" in message 1',
        "assistant",
    ),
    "an unknown source of a step": (
        "a.json",
        lambda: write({"agent": {}, "steps": [{"step_id": 1, "source": "narrator", "message": "Hi"}]}),
        'a.json, line 1: found the source "narrator" of step 1',
        "agent",
    ),
    "NaN": (
        "a.jsonl",
        lambda: bytes(f'{{"weight": NaN, "messages": [{MESSAGE}]}}', "utf-8"),
        "a.jsonl, line 1: found NaN",
        "every program reads the same way",
    ),
    "a key twice": (
        "a.jsonl",
        lambda: bytes(f'{{"id": "1", "id": "2", "messages": [{MESSAGE}]}}', "utf-8"),
        'a.jsonl, line 1: found the key "id" twice',
        "every program reads the same way",
    ),
    "nesting": (
        "a.jsonl",
        lambda: bytes(f'{{"more": {nest(64)}, "messages": [{MESSAGE}]}}', "utf-8"),
        "a.jsonl, line 1: found objects and lists nested deeper than 64",
        "at most 64 levels",
    ),
    "deep nesting": (
        "a.json",
        lambda: bytes(f'[{{"more": {nest(100_000)}, "messages": [{MESSAGE}]}}]', "utf-8"),
        "a.json, line 1: found objects and lists nested deeper than 64",
        "at most 64 levels",
    ),
    "a key twice in an archive": (
        "a.eval",
        lambda: pack({"header.json": HEAD, "samples/1_epoch_1.json": '{"id": 1, "id": 2, "messages": []}'}),
        'a.eval: found the key "id" twice in one object in samples/1_epoch_1.json',
        "every program reads the same way",
    ),
    "nesting in an archive": (
        "a.eval",
        lambda: pack({"header.json": HEAD, "samples/1_epoch_1.json": f'{{"id": 1, "messages": {nest(64)}}}'}),
        "a.eval: found objects and lists nested deeper than 64 in samples/1_epoch_1.json",
        "at most 64 levels",
    ),
    "bytes in an archive that are no text": (
        "a.eval",
        lambda: pack({"header.json": HEAD, "samples/1_epoch_1.json": b'{"id": "\xff", "messages": []}'}),
        "a.eval: found byte 0xFF at offset 8 of samples/1_epoch_1.json, which is not UTF-8",
        "an undamaged log",
    ),
    "a zip bomb": (
        "a.eval",
        lambda: pack({"header.json": HEAD, "samples/1_epoch_1.json": " " * 20_000_000}),
        "a.eval: found the entry “samples/1_epoch_1.json”, which grows from",
        "at most 1000 times as many",
    ),
    "a log without samples": ("a.json", lambda: write({**HEAD, "samples": []}), "a.json: found no interview", "one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_refused_whole_with_its_place(case, study, lead):
    name, make, found, expected = REFUSED[case]
    data = make()
    with pytest.raises(ReadError) as refused:
        read_bytes(data, name=name)
    sentence = str(refused.value)
    assert sentence.startswith(found)
    assert expected in sentence.partition("; expected ")[2]
    assert "\n" not in sentence
    with pytest.raises(Refused):
        import_file(study=study, name=name, data=data, by=lead)
    assert not Interview.objects.filter(study=study).exists()
    assert not ImportedFile.objects.filter(study=study).exists()


def read_chat(*messages):
    return read_bytes(write({"id": "1", "messages": messages}), name="a.json")


def call(key, name):
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": key, "function": {"name": name, "arguments": "{}"}}],
    }


class TestKeptAndTold:
    def test_a_result_without_a_call(self):
        file = read_chat(
            {"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "call_9", "content": "Found."}
        )
        assert [turn.text for turn in file.interviews[0].turns] == ["Hi", "Found."]
        assert pair_results(file.interviews[0].turns) == [None, None]
        assert "call_9" in file.warnings[0]

    def test_one_id_for_two_calls(self):
        file = read_chat(
            call("c", "first"),
            {"role": "tool", "tool_call_id": "c", "content": "One."},
            call("c", "second"),
            {"role": "tool", "tool_call_id": "c", "content": "Two."},
        )
        turns = file.interviews[0].turns
        assert [turn.speaker for turn in turns] == ["first", "first", "second", "second"]
        assert pair_results(turns) == [None, 1, None, 3]
        assert "names more than one call" in file.warnings[0]

    @pytest.mark.parametrize(
        ("times", "back"),
        [
            (["2026-05-01T10:00:00Z", "2026-05-01T09:59:59Z", "2026-05-01T10:00:01Z"], 1),
            (["2026-05-01T10:00:00Z", "2026-05-01T10:00:00Z", "2026-05-01T12:00:00+01:00"], 0),
            (["2026-05-01T10:00:00", "2026-05-01T09:00:00Z", "soon"], 0),
            ([1_777_000_100, 1_777_000_000, 1_777_000_200], 1),
        ],
    )
    def test_a_clock_going_back(self, times, back):
        said = [{"role": "user", "content": str(number), "timestamp": time} for number, time in enumerate(times)]
        file = read_chat(*said)
        assert [turn.text for turn in file.interviews[0].turns] == ["0", "1", "2"]
        assert (
            sum(times for what, times in file.left_out.items() if "earlier than that of the one before" in what) == back
        )

    @pytest.mark.parametrize("is_json", [True, False])
    def test_a_run_that_was_not_finished_counts_the_rest(self, *, is_json):
        start = {**LOG["eval"], "dataset": {"samples": 3, "sample_ids": ["s1", "s2", "s3"]}, "config": {"epochs": 2}}
        sample = LOG["samples"][0]
        if is_json:
            data = write({"version": 2, "status": "started", "eval": start, "samples": [sample]})
        else:
            data = pack({"_journal/start.json": {"eval": start}, "samples/s1_epoch_1.json": sample})
        file = read_bytes(data, name="a.eval")
        assert [thread.run["status"] for thread in file.interviews] == ["started"]
        assert file.left_out["A sample is not in the log, because the run was not finished."] == 5

    def test_a_finished_run_of_some_samples_lacks_none(self):
        log = told.tell_as_inspect()
        log["eval"]["dataset"] = {"samples": 3}
        assert not read_bytes(write(log), name="a.json").left_out

    def test_a_sample_that_ended_in_an_error(self):
        file = read_bytes(write(told.tell_as_inspect(error={"message": "out of memory"})), name="a.json")
        assert (len(file.interviews[0].turns), file.interviews[0].run["status"]) == (len(told.TURNS), "error")
        assert "ended in an error" in file.warnings[0]

    def test_samples_come_in_the_order_of_the_data_set_and_not_in_which_they_ended(self):
        def order(ids, **more):
            members = {
                f"samples/{each}_epoch_{epoch}.json": {**LOG["samples"][0], "id": each, "epoch": epoch}
                for epoch in (2, 1)
                for each in ids
            }
            data = pack({"header.json": {**HEAD, "eval": {**HEAD["eval"], **more}}, **members})
            return [(each.run["sample"], each.run["epoch"]) for each in read_bytes(data, name="a.eval").interviews]

        assert order([10, 2, 1]) == [(each, epoch) for epoch in "12" for each in ("1", "2", "10")]
        named = {"dataset": {"sample_ids": ["b", "a", "c"]}}
        assert order(["c", "a", "b"], **named) == [(each, epoch) for epoch in "12" for each in "bac"]

    def test_a_sample_whose_bytes_are_damaged_is_left_out_and_counted(self):
        data = pack({"header.json": HEAD, "samples/1_epoch_1.json": LOG["samples"][0], "samples/2_epoch_1.json": LOG})
        at = data.rindex(b"samples/2_epoch_1.json", 0, data.index(b"PK\1\2")) + len(b"samples/2_epoch_1.json") + 20
        file = read_bytes(data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :], name="a.eval")
        assert len(file.interviews) == 1
        assert file.left_out["A sample that breaks off in the archive was left out."] == 1


def bring(study, by, content, name="run.json"):
    return import_file(study=study, name=name, data=write(content), by=by)


class TestOnceMore:
    def test_the_same_run_again_is_skipped(self, study, lead):
        assert bring(study, lead, told.tell_as_atif()).created
        for name in ("run.json", "other/run.json"):
            report = bring(study, lead, told.tell_as_atif(), name)
            assert (report.created, report.skipped) == (False, True)
        assert Interview.objects.filter(study=study).count() == 1

    def test_the_same_id_with_other_text_is_refused_with_the_turn(self, study, lead):
        bring(study, lead, told.tell_as_atif())
        changed = told.tell_as_atif()
        changed["steps"][3]["message"] = "She may not ask."
        with pytest.raises(Refused) as refused:
            bring(study, lead, changed)
        assert "run" in str(refused.value)
        assert "7" in str(refused.value)
        assert not Turn.objects.filter(text="She may not ask.").exists()
