import io
import json
import re

import pytest

from auditapp.benchmarks.gender_cues.pure.outputs import list_funnel
from auditapp.benchmarks.gender_cues.pure.reviews import (
    ReviewFile,
    RulesRefused,
    check_rules,
    make_funnel,
    read_rules,
    winnow,
)
from tests.auditapp.benchmarks.gender_cues.making import write_csv
from transcripts.formats.problems import ReadError

TEXTS = [
    ("Rudely told that we lost our papers", "woman"),
    ("A rude person at the desk", "man"),
    ("My daughter's doctor was RUDE to us", "woman"),
    ("intruder at the desk", "androgynous"),
    ("", "unknown"),
]


def keep(step, rows=TEXTS):
    rules = check_rules({"name": "r", "steps": [{"name": "s", **step}]})
    return [review.identifier for review in winnow(ReviewFile(io.BytesIO(write_csv(rows)), name="f.csv"), rules)]


def test_terms_are_whole_words_and_a_star_stands_for_any_ending():
    assert keep({"rule": "contains", "terms": ["rude"]}) == ["2", "3"]
    assert keep({"rule": "contains", "terms": ["rude*"]}) == ["1", "2", "3"]
    assert keep({"rule": "excludes", "terms": ["Daughter"]}) == ["1", "2", "4"]
    assert keep({"rule": "contains", "terms": ["rude person"]}) == ["2"]


def test_length_counts_words_or_characters():
    assert keep({"rule": "length", "unit": "words", "at_least": 7}) == ["1", "3"]
    assert keep({"rule": "length", "unit": "characters", "at_most": 25}) == ["2", "4"]


def test_rows_without_a_text_are_counted_and_passed_over():
    reviews = ReviewFile(io.BytesIO(write_csv(TEXTS)), name="f.csv")
    winnowing = winnow(
        reviews, check_rules({"name": "r", "steps": [{"name": "s", "rule": "contains", "terms": ["zzz"]}]})
    )
    assert list(winnowing) == []
    assert reviews.without_text == 1
    assert [row["total"] for row in winnowing.funnel] == [4, 0]
    assert winnowing.funnel[0]["unknown"] == 0
    assert winnowing.funnel[1]["of_step_before"] == 0


def test_the_funnel_for_people_has_a_line_for_each_step_in_columns():
    counts = [("all with a text", {"woman": 1200, "man": 34}), ("long", {"woman": 300, "man": 17, "unknown": 0})]
    head, first, second = list_funnel(make_funnel(counts))
    assert head.split() == ["woman", "man", "androgynous", "unknown", "total", "of", "before", "of", "first"]
    assert first.removeprefix("all with a text").split() == [
        "1,200",
        "34",
        "0",
        "0",
        "1,234",
        "100.00",
        "%",
        "100.00",
        "%",
    ]
    assert second.removeprefix("long").split() == ["300", "17", "0", "0", "317", "25.69", "%", "25.69", "%"]
    ends = [[found.end() for found in re.finditer(r"\S+", line[len("all with a text") :])] for line in (first, second)]
    assert ends[0] == ends[1]


def test_the_hash_of_rules_is_of_what_they_say():
    rules = {"name": "r", "steps": [{"name": "s", "rule": "equals", "column": "stars", "value": "1"}]}
    assert read_rules(json.dumps(rules)).sha256 == read_rules(json.dumps(rules, indent=2, sort_keys=True)).sha256
    other = {**rules, "steps": [{**rules["steps"][0], "value": "2"}]}
    assert read_rules(json.dumps(rules)).sha256 != read_rules(json.dumps(other)).sha256


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"rule": "length", "at_least": 5}, "words or characters"),
        ({"rule": "length", "unit": "words"}, "at_least"),
        ({"rule": "length", "unit": "words", "at_least": 9, "at_most": 3}, "no text is kept"),
        ({"rule": "length", "unit": "words", "at_least": -1}, "whole number"),
        ({"rule": "length", "unit": "words", "at_least": True}, "whole number"),
        ({"rule": "matches", "terms": ["x"]}, "must be length"),
        ({"rule": "contains", "terms": []}, "list of 1"),
        ({"rule": "contains", "terms": ["*"]}, "every term"),
        ({"rule": "contains", "terms": ["a*b"]}, "not at its end"),
        ({"rule": "equals", "value": "1"}, "column"),
        ({"rule": "contains", "terms": ["x"], "case": "y"}, "not known"),
    ],
)
def test_rules_that_cannot_be_applied_are_refused_with_their_step(step, says):
    with pytest.raises(RulesRefused, match=says) as refused:
        check_rules({"name": "r", "steps": [{"name": "first", **step}]})
    assert "Step 1" in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('{"name": "a",\n "name": "b", "steps": []}', 'The rules: found the key "name" twice'),
        ('{"name": "a",\n "steps": [{"name": "s", "at_least": NaN}]}', "found NaN, which is not a JSON number"),
        ('{"name": "a",\n "steps" []}', "line 2: found invalid JSON"),
        ("[" * 100, "found"),
        (
            '{"name": "a", "steps": []}\n{"name": "b", "steps": []}',
            "line 2: found more text after the first JSON value",
        ),
        ("", "found nothing"),
        (b"\xff", "found the byte 0xFF, which is not UTF-8"),
        ('{"steps": {}}', 'Write one JSON object with "name"'),
        ('{"name": "a", "steps": ["x"]}', "Step 1 is no object. Write"),
    ],
)
def test_rules_that_two_programs_could_read_in_two_ways_are_refused_with_their_line(data, says):
    with pytest.raises(RulesRefused) as refused:
        read_rules(data)
    assert says in str(refused.value)


@pytest.mark.parametrize("sign", ["\ud800", "\x00"])
@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("The rules", lambda bad: {"name": bad}),
        ("The rules", lambda bad: {bad: 1}),
        ("Step 2", lambda bad: {"name": bad}),
        ("Step 2", lambda bad: {"value": bad}),
        ("Step 2", lambda bad: {"column": bad}),
        ("Step 2", lambda bad: {bad: 1}),
        ("Step 2", lambda bad: {"rule": "contains", "terms": ["x", bad]}),
    ],
)
def test_rules_with_a_text_that_no_database_holds_are_refused_in_words_that_can_be_printed(where, change, sign):
    steps = [{"name": f"s{number}", "rule": "equals", "column": "stars", "value": "1"} for number in (1, 2)]
    rules = {"name": "r", "steps": steps}
    (steps[1] if where == "Step 2" else rules).update(change(f"a{sign}"))
    with pytest.raises(RulesRefused, match="cannot be stored") as refused:
        read_rules(json.dumps(rules))
    assert str(refused.value).startswith(f"{where}: ")
    assert str(refused.value).isprintable()


def test_a_column_that_the_file_has_not_is_named():
    with pytest.raises(RulesRefused, match="“stars”"):
        keep({"rule": "equals", "column": "stars", "value": "1"})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"text,stars\nx,1\n", "name-inferred category"),
        (b"text,text,category\n", "line 1: found the column text more than once"),
        (b"text,category\nx,woman,1\n", "line 2: found 3 cells; expected 2"),
        (b"text,category\nx,female\n", "line 2: found the category “female” in the column “category”; expected "),
        (b"text,category\nx,\n", "line 2: found nothing in the column “category”"),
        (b"text,category\nx,Jennifer\n", "looks like a name"),
        (b"text,category,First Name\nx,woman,y\n", "looks like people's names"),
        (b"text,category,reviewer\nx,woman,y\n", "looks like people's names"),
        (b'text,category\n"x,woman\n', "line 2: found something that is not CSV"),
        (b"text,category\n\xff,woman\n", "line 2: found the byte 0xFF, which is not UTF-8"),
        (b"text,category\na\x00b,woman\n", "line 2: found a NUL character"),
        (
            b"text,category\n" + b"x" * 100_001 + b",woman\n",
            "line 2: found a text of 100,001 characters; expected at most 100,000",
        ),
        (b"text;category\nx;woman\n", "separated by semicolons"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_the_place(data, says):
    with pytest.raises(ReadError, match=says):
        list(ReviewFile(io.BytesIO(data), name="f.csv"))


def test_a_column_of_names_under_another_heading_is_refused_and_one_of_cities_is_not():
    names = ["Maria Lopez", "John S.", "Karen", "Emily Fox", "Robert"] * 4
    cities = ["New York", "Boston", "Phoenix", "Dallas", "Charlotte"] * 4
    with pytest.raises(ReadError, match="“by”"):
        list(
            ReviewFile(
                io.BytesIO(b"text,category,by\n" + b"".join(f"x,man,{each}\n".encode() for each in names)), name="f.csv"
            )
        )
    kept = list(
        ReviewFile(
            io.BytesIO(b"text,category,place\n" + b"".join(f"x,man,{each}\n".encode() for each in cities)), name="f.csv"
        )
    )
    assert len(kept) == 20


def test_the_category_may_stand_under_its_full_name():
    reviews = ReviewFile(io.BytesIO(b"id,text,name_inferred_category\nq7,hello,Woman\n"), name="f.csv")
    assert [(each.identifier, each.category) for each in reviews] == [("q7", "woman")]
