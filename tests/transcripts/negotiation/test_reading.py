"""Files of trajectories: both spellings, any order, whole or not at all."""

import random

import pytest

from tests.transcripts.negotiation.report_lines import DATA, Coder, encode, make_thread, read
from transcripts.formats.problems import ReadError
from transcripts.negotiation.pure.reading import read_records
from transcripts.negotiation.pure.records import Link, Pair, Thread
from transcripts.negotiation.pure.report import make_report

TWO_THREADS = DATA / "two_threads.jsonl"


def refuse(*lines):
    with pytest.raises(ReadError) as refused:
        read(lines)
    assert refused.value.file == "threads.jsonl"
    return refused.value


def test_the_spellings_of_the_export_are_read():
    with TWO_THREADS.open("rb") as lines:
        records = read_records(lines, name=TWO_THREADS.name)
    assert records.threads[0] == Thread(
        "h1", "prompted", ("feature.power", "feature.stakeholders"), ("feature.policy",), kind="trajectory", model="m"
    )
    assert [coding.code for coding in records.codings[:2]] == ["feature.power", "feature.power"]
    assert [turn.sentences for turn in records.turns[:3]] == [1, 1, 2]
    assert records.links == [Link("2", "warrant", "", 6), Link("4", "acts_on", "feature.power")]
    assert records.pairs == [Pair("case 1", "h1", "h2", "change")]
    assert records.stances["care/1"]["author"] == "A. Author"


def test_what_is_passed_over_is_counted():
    with TWO_THREADS.open("rb") as lines:
        records = read_records(lines, name=TWO_THREADS.name)
    assert all(coding.code != "feature.task" for coding in records.codings)
    said = "\n".join(records.warnings)
    assert "Pairs left out because one of their threads is not in the file" in said
    assert '"case 2"' in said
    assert "Skipped assisted rows (coding): 1" in said
    assert 'unknown record "stage_opening"' in said


def test_assisted_rows_can_be_read():
    with TWO_THREADS.open("rb") as lines:
        records = read_records(lines, name=TWO_THREADS.name, blinding="assisted")
    assert [(coding.coder, coding.code) for coding in records.codings] == [("bert", "feature.task")]
    assert records.links == []


def test_the_order_of_lines_does_not_matter():
    lines = TWO_THREADS.read_bytes().splitlines(keepends=True)
    expected = make_report(read_records(lines, name="a"), outcomes=["move.revise"])
    for seed in range(5):
        shuffled = random.Random(seed).sample(lines, len(lines))
        assert make_report(read_records(shuffled, name="a"), outcomes=["move.revise"]) == expected


def test_a_link_of_a_withdrawn_coding_goes_with_it():
    ana = Coder()
    coding = ana.move(2, "elicit", withdrawn="2026-01-01")
    link = {"record": "link", "coding": coding["id"], "kind": "acts_on", "code": "feature.power"}
    assert read([*make_thread(), link, coding]).links == []


def test_a_pair_with_one_side_waits_and_is_told():
    records = read([*make_thread(), {"record": "pair", "pair": "p", "a": "t1", "expect": "change"}])
    assert records.pairs == []
    assert "not in the file: 1" in records.warnings[0]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"record": "thread", "thread": "t", "thread": "u"}', 'the key "thread" twice'),
        (b'{"record": "score", "value": NaN}', "NaN"),
        (b'["thread"]', "a list"),
        (b'{"record": "thread"', "breaks off"),
        (b'{"record": "thread", "thread": "\xff"}', "0xFF"),
        (b'{"record": "thread", "thread": "a\x00"}', "invalid JSON"),
        (b'{"record": "x", "y": ' + b"[" * 70 + b"]" * 70 + b"}", "nested deeper than 64"),
    ],
)
def test_a_line_that_two_programs_could_read_in_two_ways_is_refused(line, found):
    with pytest.raises(ReadError) as refused:
        read_records([*encode(make_thread()), line], name="threads.jsonl")
    assert refused.value.line == 6
    assert found in refused.value.found


@pytest.mark.parametrize("empty", [[], [b"\n", b"  \n"]])
def test_an_empty_file_is_refused(empty):
    with pytest.raises(ReadError, match="an empty file"):
        read_records(empty, name="threads.jsonl")


CODING = Coder().move(2, "elicit")
SCORE = {"record": "score", "thread": "t1", "stance": "care/1", "criterion": "moves", "coder": "ana", "value": 1}


@pytest.mark.parametrize(
    ("line", "found", "expected"),
    [
        ({"thread": "t1"}, "a line without “record”", "its kind: thread"),
        ({"record": 4}, "the record 4", "its kind: thread"),
        ({"record": "thread"}, "a thread without “thread” or “id”", "text"),
        ({"record": "thread", "thread": "t1"}, 'the thread "t1" again', "line 1 has it"),
        ({"record": "turn", "thread": "t1", "turn": 1, "role": "model", "channel": "utterance"}, "turn 1", "once"),
        ({"record": "turn", "thread": "t1", "turn": 9, "role": "judge", "channel": "utterance"}, '"judge"', "model"),
        ({"record": "turn", "thread": "t1", "turn": 9, "role": "model", "channel": "song"}, '"song"', "reasoning"),
        (
            {"record": "turn", "thread": "t1", "turn": True, "role": "model", "channel": "song"},
            "true or false",
            "from 1",
        ),
        (CODING | {"turn": 0}, "0 for “turn”", "from 1"),
        (CODING | {"turn": 12}, 'turn 12 of the thread "t1"', "in the file"),
        (CODING | {"thread": "t2"}, 'the thread "t2"', "in the file"),
        (CODING | {"coder": ""}, "an empty text for “coder”", "text"),
        (CODING | {"start": -1}, "-1 for “start”", "from 0"),
        (CODING | {"id": None}, "a coding without “id” or “coding_id”", "text"),
        (CODING | {"enactment": "sung"}, 'the enactment "sung"', "enacted, demonstrated or described"),
        (CODING | {"enactment": []}, "the enactment a list", "enacted, demonstrated or described"),
        (CODING | {"attributes": {"status": []}}, "the status a list", "silently assumed, hypothesised"),
        (CODING | {"attributes": []} | {"attributes": ["status"]}, "a list for “attributes”", "an object"),
        (CODING | {"attributes": {"status": "settled"}}, 'the status "settled"', "silently assumed, hypothesised"),
        (CODING | {"blinding": "open"}, 'the blinding "open"', "blind, assisted or adjudicated"),
        (
            {"record": "link", "coding": "x", "kind": "acts_on", "code": "feature.power"},
            'the coding "x"',
            "in the file",
        ),
        ({"record": "link", "coding": "x", "kind": "likes"}, '"likes"', "acts_on, warrant or revises"),
        ({"record": "link", "coding": "x", "kind": "warrant"}, "a link without “turn”", "from 1"),
        ({"record": "pair", "pair": "p", "a": "t1", "b": "t1", "expect": "change"}, "on both sides", "two threads"),
        ({"record": "pair", "pair": "p", "a": "t1", "b": "t2", "expect": "maybe"}, '"maybe"', "change or no_change"),
        (SCORE | {"value": 4}, "the value 4 for moves", "from 0 to 3"),
        (SCORE | {"value": 1.5}, "the value 1.5 for moves", "from 0 to 3"),
        (SCORE | {"criterion": "warranted", "value": 2}, "the value 2 for warranted", "from 0 to 1"),
        (SCORE | {"criterion": "beauty"}, '"beauty"', "features, moves"),
        (SCORE | {"stance": None}, "a score without “stance”", "text"),
        (SCORE | {"thread": "t2"}, 'the thread "t2"', "in the file"),
        ({"record": "decided", "thread": "t1", "turn": 2, "coder": "ana", "families": "all"}, "text for", "a list"),
        ({"record": "case_sheet", "thread": "t1", "relevant": [3]}, "a list for “relevant”", "a list of codes"),
        ({"record": "case_sheet", "thread": "t2", "relevant": []}, 'the thread "t2"', "in the file"),
    ],
)
def test_a_line_that_says_what_cannot_be_refuses_the_file(line, found, expected):
    error = refuse(*make_thread(), line)
    assert error.line == 6
    assert found in error.found
    assert expected in error.expected


@pytest.mark.parametrize(("line", "found"), [(CODING, "the coding"), (SCORE, "a second score")])
def test_nothing_is_said_twice(line, found):
    error = refuse(*make_thread(), line, line)
    assert error.line == 7
    assert found in error.found


def test_no_feature_is_both_relevant_and_irrelevant():
    lists = {"relevant": ["feature.power"], "irrelevant": ["feature.power"]}
    assert "both relevant and irrelevant" in refuse(*make_thread(**lists)).found
