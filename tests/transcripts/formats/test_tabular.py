"""Tables as CSV, JSON Lines and JSON."""

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.formats.tabular import (
    ROWS_AT_A_TIME,
    Groups,
    escape_formula,
    unescape_formula,
    write_csv,
    write_json,
    write_jsonl,
)

FORMULA_SIGNS = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
CELLS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


class LabelledText(str):
    """Text of a subclass, as Django's choices are."""

    __slots__ = ()


def to_csv(*rows, header=None, escape_formulas=True):
    stream = io.StringIO(newline="")
    headings = header or [f"c{number}" for number in range(len(rows[0]))]
    assert write_csv(rows, header=headings, stream=stream, escape_formulas=escape_formulas) == len(rows)
    return stream.getvalue()


def read_cells(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def to_jsonl(*rows):
    stream = io.StringIO()
    assert write_jsonl(rows, header=[f"c{number}" for number in range(len(rows[0]))], stream=stream) == len(rows)
    return stream.getvalue()


@pytest.mark.parametrize("sign", FORMULA_SIGNS)
@pytest.mark.parametrize("before", ["", " ", "   ", '"', "'", " '", "\u00a0", "\ufeff"])
def test_formula_like_text_gets_an_apostrophe(before, sign):
    assert escape_formula(f"{before}{sign}cmd") == f"'{before}{sign}cmd"


@pytest.mark.parametrize("text", ["", "a=b", "5-3", "'quoted' text", "yes - no", "1", "#N/A", "–dash", "(=1)"])
def test_other_text_is_left_alone(text):
    assert escape_formula(text) == text


@given(st.text(st.sampled_from("=+-@ \t\r\n'\"＝ab"), max_size=6) | st.text(max_size=8))
def test_unescaping_gives_back_what_was_escaped(text):
    assert unescape_formula(escape_formula(text)) == text
    assert not escape_formula(text).lstrip(" ").startswith(tuple(FORMULA_SIGNS))


def test_headings_are_escaped_too():
    assert to_csv(["x"], header=["=1+1"]) == "'=1+1\r\nx\r\n"


def test_numbers_stay_numbers():
    assert to_csv([-1, -2.5, Decimal("-0.10"), True]) == "c0,c1,c2,c3\r\n-1,-2.5,-0.10,true\r\n"


def test_formula_in_a_column_of_mixed_kinds_is_escaped():
    rows = [[1], ["=1"], [None], [LabelledText("@x")]]

    assert to_csv(*rows) == "c0\r\n1\r\n'=1\r\n\"\"\r\n'@x\r\n"


def test_exact_csv_leaves_text_as_it_is():
    assert to_csv(["=1", "a"], escape_formulas=False) == "c0,c1\r\n=1,a\r\n"


def test_nothing_is_an_empty_cell():
    assert to_csv([None, "a", None], ["b", None, 1]) == "c0,c1,c2\r\n,a,\r\nb,,1\r\n"


def test_lone_empty_cell_is_no_empty_line():
    assert read_cells(to_csv([None], [""])) == [["c0"], [""], [""]]


def test_times_are_iso_8601_in_utc():
    noon = datetime(2024, 11, 5, 12, 30, 0, 250, tzinfo=UTC)
    elsewhere = datetime(2024, 11, 5, 12, 30, tzinfo=timezone(timedelta(hours=-5)))

    assert to_csv([noon, elsewhere, date(2024, 11, 5)]).splitlines()[1] == (
        "2024-11-05T12:30:00.000250Z,2024-11-05T17:30:00Z,2024-11-05"
    )


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=20))
def test_readers_get_back_every_cell_of_an_escaped_table(rows):
    read = read_cells(to_csv(*rows))

    assert [[unescape_formula(cell) for cell in row] for row in read[1:]] == [
        [cell or "" for cell in row] for row in rows
    ]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20))
def test_exact_csv_is_what_the_standard_library_writes(rows):
    expected = io.StringIO(newline="")
    csv.writer(expected).writerows([["c0", "c1"], *rows])

    assert to_csv(*rows, escape_formulas=False) == expected.getvalue()


@given(st.lists(st.tuples(CELLS, st.none() | st.integers(), st.none() | st.booleans()), min_size=1, max_size=20))
def test_rows_that_come_as_columns_are_written_alike(rows):
    texts = []
    for given_rows in (rows, Groups([list(zip(*rows, strict=True)), list(zip(*rows[:1], strict=True))])):
        text = io.StringIO(newline="")
        write_csv(given_rows, header=["a", "b", "c"], stream=text)
        texts.append(text.getvalue())
    one = io.StringIO(newline="")
    write_csv(rows[:1], header=["a", "b", "c"], stream=one)
    assert texts[1] == texts[0] + one.getvalue().split("\r\n", 1)[1]


def test_lists_and_mappings_are_json_in_a_csv_cell():
    assert read_cells(to_csv([["a", "é"], {"b": [1]}]))[1] == ['["a","é"]', '{"b":[1]}']


def test_rows_beyond_one_group_are_all_written():
    rows = [[number, f"text {number}"] for number in range(2 * ROWS_AT_A_TIME + 7)]

    assert read_cells(to_csv(*rows))[1:] == [[str(number), text] for number, text in rows]
    assert [json.loads(line)["c0"] for line in to_jsonl(*rows).splitlines()] == [row[0] for row in rows]


def test_rows_are_written_before_all_are_taken():
    taken_at_writes = []
    taken = 0

    def make_rows():
        nonlocal taken
        for taken in range(1, 3 * ROWS_AT_A_TIME + 1):
            yield [taken]

    class RecordingStream:
        def write(self, text):
            taken_at_writes.append(taken)

    write_csv(make_rows(), header=["n"], stream=RecordingStream())

    assert taken_at_writes == [0, ROWS_AT_A_TIME, 2 * ROWS_AT_A_TIME, 3 * ROWS_AT_A_TIME]


def test_row_that_does_not_fit_the_headings_is_named():
    rows = [*([1, 2] for _ in range(ROWS_AT_A_TIME)), [1]]

    with pytest.raises(ValueError, match="Row 1001 has 1 cells under 2 headings"):
        write_csv(rows, header=["a", "b"], stream=io.StringIO())


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_json])
def test_time_without_a_zone_is_refused(write):
    with pytest.raises(ValueError, match="no time zone"):
        write([[datetime(2024, 1, 1)]], header=["at"], stream=io.StringIO())  # noqa: DTZ001


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_json])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_number_that_is_not_finite_is_refused(write, value):
    with pytest.raises(ValueError, match=r"not a finite number|not JSON compliant"):
        write([[value]], header=["rate"], stream=io.StringIO())


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_json])
def test_value_of_a_kind_without_a_form_is_refused(write):
    with pytest.raises(TypeError, match="cannot hold a set"):
        write([[{"a"}]], header=["x"], stream=io.StringIO())


def test_jsonl_holds_one_object_a_line_with_typed_values():
    key = UUID("12345678-1234-5678-1234-567812345678")
    at = datetime(2024, 11, 5, tzinfo=UTC)
    text = to_jsonl(["=1\n,2", None, 3, 0.5, True, Decimal("1.50"), [1, "a"], key, at])

    assert text == (
        '{"c0":"=1\\n,2","c1":null,"c2":3,"c3":0.5,"c4":true,"c5":1.50,"c6":[1,"a"],'
        f'"c7":"{key}","c8":"2024-11-05T00:00:00Z"}}\n'
    )


@given(st.lists(st.tuples(CELLS, CELLS | st.integers() | st.booleans()), min_size=1, max_size=20))
def test_json_lines_give_back_every_value(rows):
    lines = to_jsonl(*rows).split("\n")

    assert lines.pop() == ""
    assert [tuple(json.loads(line).values()) for line in lines] == rows


def test_json_is_one_array_with_any_heading():
    stream = io.StringIO()

    assert write_json([["a", 1], ["b", 2]], header=["100 %s", 'say "x"'], stream=stream) == 2
    assert json.loads(stream.getvalue()) == [{"100 %s": "a", 'say "x"': 1}, {"100 %s": "b", 'say "x"': 2}]


def test_no_rows_are_a_header_no_line_and_an_empty_array():
    streams = [io.StringIO(newline="") for _ in range(3)]

    counts = [
        write([], header=["a", "b"], stream=stream)
        for write, stream in zip((write_csv, write_jsonl, write_json), streams, strict=True)
    ]

    assert counts == [0, 0, 0]
    assert [stream.getvalue() for stream in streams] == ["a,b\r\n", "", "[\n]\n"]
