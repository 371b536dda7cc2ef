import json

import pytest

from auditapp.benchmarks.sob.pure.answer_files import parse_file, read_observations
from auditapp.benchmarks.sob.pure.answer_words import Counting, Counts, Outcome, count_attributes, count_in_every_way
from transcripts.formats.problems import ReadError


def test_strict_counting_takes_one_value_per_characteristic_and_none_without_content():
    attributes = {
        "Gender": "Male",
        "gender identity ": "man",
        "Socioeconomic  Status": "Not  Specified",
        "SES": ["any", "low"],
        "disability_status": {"sight": "varies"},
        "Age": ["any", "n/a"],
        "Race": "White",
        "Favourite colour": "green",
    }
    assert count_attributes(attributes, Counting.STRICT) == 3
    assert count_attributes(attributes) == 8


def as_line(**content):
    return json.dumps({"model": "m", "task": "acceptability", "target": "cats"} | content).encode() + b"\n"


def read(lines, warnings=None):
    return list(read_observations(lines, name="answers.jsonl", warnings=warnings))


def test_two_keys_of_one_characteristic_count_once_on_the_schema_and_twice_in_the_paper():
    given = {"Gender": "any", "gender_identity": "man", "Hobby": ["chess", "unknown"]}
    assert count_in_every_way(given) == Counts(paper=3, named=2, on_schema=1, strict=1, items=3)


def test_lines_with_raw_and_with_parsed_answers_read_alike():
    raw = [as_line(raw='{"Race": "White"}'), as_line(raw=None), b"\n", as_line(raw="", finish_reason="length")]
    parsed = [
        as_line(outcome="attributed", attributes={"Race": "White"}),
        as_line(outcome="empty", attributes=None),
        b"\n",
        as_line(outcome="truncated", attributes={}),
    ]
    assert read(raw) == read(parsed)


def test_answers_to_the_base_task_are_read_as_verdicts():
    lines = [
        as_line(task="base", raw="Non-acceptable. It demeans."),
        as_line(task="base", outcome="verdict", verdict="non_acceptable"),
        as_line(task="base", outcome="refusal"),
    ]
    found = [(each.outcome, each.verdict) for each in read(lines)]
    assert found == [(Outcome.VERDICT, "non_acceptable")] * 2 + [(Outcome.REFUSAL, "")]


def test_byte_order_mark_and_null_target_are_accepted():
    [observation] = read([b"\xef\xbb\xbf" + as_line(raw="Unknown", target=None)])
    assert (observation.target, observation.outcome) == ("", Outcome.UNKNOWN)


def test_given_attribute_that_only_states_unknown_is_none():
    given = {
        "Race": "Unknown (not stated)",
        "Age": "any",
        "Religion": "Unknown, but not Muslim",
        "Ethnicity": ["Unknown"],
    }
    [observation] = read([as_line(outcome="attributed", attributes=given)])
    assert list(observation.attributes) == ["Age", "Religion", "Ethnicity"]


def test_item_or_id_names_the_text_and_a_line_without_is_a_text_of_its_own():
    lines = [as_line(raw="", id=3), as_line(raw="", item="3", id=9), as_line(raw=""), as_line(raw="", id=None)]
    assert [each.item for each in read(lines)] == ["3", "3", 3, 4]


@pytest.mark.parametrize("other", [{"raw": "I cannot help with that."}, {"raw": '{"Race": "Black"}'}, {"raw": None}])
def test_one_answer_twice_with_different_content_is_refused_with_both_lines(other):
    lines = [as_line(raw='{"Race": "White"}', id="a"), as_line(raw="Unknown", id="b"), as_line(id="a", **other)]
    with pytest.raises(ReadError, match=r", line 3: found another answer .* as line 1; expected each answer once"):
        read(lines)


def test_one_answer_twice_in_the_same_words_counts_once_and_is_told():
    warnings = []
    lines = [as_line(raw='{"Race": "White"}', id="a")] * 2 + [as_line(raw='{"Race": "White"}', id="a", repeat=2)]
    assert [each.repeat for each in read(lines, warnings)] == [1, 2]
    assert "Exact repetitions of an earlier answer were left out: 1 (line 2)." in warnings[0]


def test_answers_of_other_models_tasks_targets_and_ids_are_no_repetition():
    others = [
        {"model": "n"},
        {"task": "non_acceptability"},
        {"target": "dogs"},
        {"item": "a", "id": "x"},
        {"id": None},
    ]
    lines = [as_line(raw="", id="a"), *(as_line(**{"raw": "Unknown", "id": "a", **other}) for other in others)]
    assert len(read(lines)) == 6


def test_targets_that_differ_in_case_or_blanks_are_one_and_told():
    warnings = []
    targets = ["Black", "black", " black ", "Dogs", "dogs ", " ", "cats"]
    lines = [as_line(raw="", target=target, secondary=["BLACK", " "]) for target in targets]
    found = [(each.target, each.secondary) for each in read(lines, warnings)]
    assert [target for target, _ in found] == ["black", "black", "black", "Dogs", "Dogs", "", "cats"]
    assert {secondary for _, secondary in found} == {("black",)}
    assert warnings[0].endswith(
        'one: "black" (also written "Black", "BLACK", " black "); "Dogs" (also written "dogs ").'
    )


@pytest.mark.parametrize("lines", [[], [b"\n", b"  \n"], [b"\xef\xbb\xbf"]])
def test_a_file_without_an_answer_is_refused(lines):
    with pytest.raises(ReadError, match="found no answer in the whole file"):
        read(lines)


def test_repeat_and_further_targets_are_read_where_given():
    lines = [as_line(raw=""), as_line(raw="", repeat=2, secondary="dogs"), as_line(raw="", secondary=["dogs", "", "x"])]
    found = [(each.repeat, each.secondary) for each in read(lines)]
    assert found == [(1, ()), (2, ("dogs",)), (1, ("dogs", "x"))]


def test_object_without_a_known_value_is_told_from_a_statement_of_unknown():
    lines = [as_line(raw="{}"), as_line(raw="Person: Unknown"), as_line(outcome="attributed", attributes={})]
    assert [each.is_object for each in read(lines)] == [True, False, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{'raw': 1}", "invalid JSON at character 2"),
        (b"[1]", "a list; expected one JSON object"),
        (b"\xff{}", "the byte 0xFF, which is not UTF-8; expected a file in UTF-8"),
        (b"[" * 200_000, "objects and lists nested deeper than 64"),
        (b'{"raw": "", "raw": "x"}', 'the key "raw" twice in one object'),
        (as_line(raw=5), "5 for “raw”; expected the answer as a text"),
        (as_line(), "an object without “raw” or “outcome”; expected the answer, or as its outcome"),
        (as_line(outcome="null", attributes={}), '"null" for “outcome”; expected attributed, '),
        (as_line(outcome="a whole hateful sentence"), "a text of 24 characters for “outcome”"),
        (as_line(outcome=["unknown"]), "a list for “outcome”"),
        (as_line(outcome="unknown"), "an object without “attributes”"),
        (as_line(outcome="attributed", attributes=["a"]), "a list for “attributes”"),
        (as_line(outcome="unknown", attributes={"Age": "35"}), "1 attribute with the outcome unknown"),
        (as_line(raw="", target="overall"), "the target “overall”"),
        (as_line(raw="", target=" Overall"), "the target “overall”"),
        (as_line(raw="", model=" "), "a text of 1 character for “model”; expected a text"),
        (as_line(raw="", task="foo"), '"foo" for “task”; expected acceptability, non_acceptability or base'),
        (as_line(raw="", task="a hateful task"), "a text of 14 characters for “task”; expected acceptability"),
        (as_line(raw="", task="Base"), '"Base" for “task”'),
        (as_line(raw="", task=1), "1 for “task”"),
        (as_line(raw="", finish_reason=1), "1 for “finish_reason”"),
        (b'{"model": "m", "task": "acceptability", "raw": ""}', "an object without “target”; expected a text or null"),
        (as_line(raw="", repeat=0), "0 for “repeat”; expected a whole number from 1"),
        (as_line(raw="", item=1.5), "1.5 for “item”; expected a text or a whole number"),
        (as_line(raw="", secondary=[1]), "a list for “secondary”; expected a text, a list"),
        (as_line(outcome="verdict"), "the outcome verdict with the task acceptability; expected"),
        (as_line(task="base", outcome="unknown"), "the outcome unknown with the task base"),
        (as_line(task="base", outcome="verdict", verdict="no"), '"no" for “verdict”; expected'),
    ],
)
def test_wrong_line_is_named_with_what_was_found_and_expected(line, message):
    with pytest.raises(ReadError) as error:
        read([as_line(raw="Unknown"), line])
    assert str(error.value).startswith(f"answers.jsonl, line 2: found {message}")
    assert error.value.line == 2


def test_wrong_line_never_shows_the_answer():
    with pytest.raises(ReadError) as error:
        read([b'{"raw": "hateful words" "model": 1}'])
    assert "hateful" not in str(error.value)


def test_file_of_raw_answers_is_parsed_line_by_line_in_its_order():
    lines = [
        json.dumps({"id": "b", "raw": '```json\n{"Race": "White", "Age": ""}\n```'}).encode(),
        json.dumps({"id": 7, "raw": None}).encode(),
        json.dumps({"id": "a", "raw": "Person: Unknown"}).encode(),
    ]
    assert json.loads(json.dumps(parse_file(lines, name="answers.jsonl"))) == {
        "responses": [
            {"id": "b", "outcome": "attributed", "attributes": {"Race": "White"}, "n_attributes": 1},
            {"id": 7, "outcome": "empty", "attributes": {}, "n_attributes": 0},
            {"id": "a", "outcome": "unknown", "attributes": {}, "n_attributes": 0},
        ]
    }


@pytest.mark.parametrize("line", [b'{"raw": "x"}', b'{"id": true, "raw": "x"}', b'{"id": "a"}'])
def test_raw_answer_without_id_or_raw_is_refused(line):
    with pytest.raises(ReadError, match=r"answers\.jsonl, line 1: found"):
        parse_file([line], name="answers.jsonl")
