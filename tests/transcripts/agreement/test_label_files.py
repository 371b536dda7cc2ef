import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.agreement.pure import label_files
from transcripts.agreement.pure.label_files import read_labels
from transcripts.agreement.pure.measuring import LabelTable, RatingTable
from transcripts.formats.problems import ReadError
from transcripts.statistics.coefficients import Level

HEAD = "coder,unit,code,value\n"
TWO = HEAD + "anna,1,x,1\nben,1,x,0\n"


def read(text, level=None):
    data = text.encode() if isinstance(text, str) else text
    table, _ = read_labels(io.BytesIO(data), level, name="labels.csv")
    assert isinstance(table, LabelTable)
    return table


def read_ratings(text, level):
    table, _ = read_labels(io.BytesIO(text.encode()), level, name="labels.csv")
    assert isinstance(table, RatingTable)
    return table


def refuse(text, level=None):
    with pytest.raises(ReadError) as refused:
        read(text, level)
    assert "\n" not in str(refused.value)
    return refused.value


def test_rows_become_a_table():
    table = read(HEAD + "anna,s1,x,1\nanna,s2,x,0\nben,s1,x,1\nben,s2,x,\nben,s1,y,0\n")
    assert (table.coders, table.codes) == (("anna", "ben"), ("x", "y"))
    assert table.labels[0].tolist() == [[True, False], [True, False]]
    assert table.get_decided(0).tolist() == [[True, True], [True, False]]
    assert table.get_decided(1).tolist() == [[False, False], [True, False]]
    assert table.clusters.tolist() == [0, 1]


def test_table_where_all_codes_were_decided_together_has_one_plane_of_decisions():
    table = read(HEAD + "anna,1,x,1\nanna,1,y,0\nben,1,x,1\nben,1,y,0\nben,2,x,1\nben,2,y,1\n")
    assert table.decided.tolist() == [[True, False], [True, True]]


def test_order_of_rows_and_columns_changes_nothing():
    here = read("coder,unit,code,value,turn\nanna,1,x,1,t2\nben,1,x,0,t2\nben,2,x,1,t1\nanna,2,x,1,t1\n")
    there = read("turn,value,code,unit,coder,note\nt1,1,x,2,anna,?\nt1,1,x,2,ben,\nt2,0,x,1,ben,\nt2,1,x,1,anna,\n")
    assert (here.coders, here.codes) == (there.coders, there.codes)
    for one, other in zip(here[2:], there[2:], strict=True):
        assert np.array_equal(one, other)
    assert here.clusters.tolist() == [1, 0]


@pytest.mark.parametrize("value", ["1", " 1 ", "1.0", "01", "+1", '"1"'])
def test_one_may_be_written_in_several_ways(value):
    assert read(HEAD + f"anna,1,x,{value}\nben,1,x,0\n").labels[0].tolist() == [[True], [False]]


def test_same_judgement_may_stand_twice():
    table = read(TWO + "anna,1,x,1\n")
    assert table.labels[0].tolist() == [[True], [False]]


def test_names_as_our_exports_write_them_are_read_back():
    table = read(HEAD + "'=anna,1,'-x,1\nben,1,-x,0\n")
    assert (table.coders, table.codes) == (("=anna", "ben"), ("-x",))


@pytest.mark.parametrize("text", ["\ufeff" + TWO, TWO.replace("\n", "\r\n"), TWO.rstrip(), TWO + "\n,,,\n"])
def test_byte_order_mark_line_ends_and_empty_rows_do_no_harm(text):
    assert read(text).labels.shape == (1, 2, 1)


def test_two_unicode_forms_of_a_name_are_one_name():
    table = read(HEAD + "zoë,caf\u00e9 1,Caf\u00e9,1\nben,cafe\u0301 1,Cafe\u0301,1\nzoe\u0308,2,Caf\u00e9,0\n")
    assert (table.coders, table.codes) == (("ben", "zo\u00eb"), ("Caf\u00e9",))
    assert table.get_decided(0).tolist() == [[False, True], [True, True]]


def test_scale_is_read_as_numbers():
    table = read_ratings(HEAD + "anna,1,x,2.5\nanna,2,x,\nben,1,x,-3\nben,2,x,1e2\n", Level.INTERVAL)
    assert np.array_equal(table.ratings, np.array([[[2.5, np.nan], [-3, 100]]]), equal_nan=True)


def test_nominal_level_takes_numbers_for_categories_and_yes_and_no_for_codes():
    assert read_ratings(HEAD + "anna,1,x,3\nben,1,x,1\n", Level.NOMINAL).ratings.tolist() == [[[3], [1]]]
    assert read(TWO, Level.NOMINAL).labels[0].tolist() == [[True], [False]]


def test_quoted_line_breaks_count_as_lines():
    refused = refuse(HEAD + '"anna\nmarie",1,x,1\nben,1,x,2\n')
    assert refused.line == 4


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "found an empty file; expected the columns coder, unit, code, value"),
        ("\n", None, "found an empty file"),
        (HEAD, None, "found headings and no row"),
        ("coder,unit,code\n", 1, "line 1: found no column value"),
        ("coder;unit;code;value\n", 1, "columns separated by semicolons"),
        ("coder,unit,code,value,value\n", 1, "the column value more than once"),
        (HEAD + "anna,1,x,1\n", None, "found one coder, “anna”; expected two or more"),
        (TWO + "ben,2,x,2\n", 4, "line 4: found the value “2”; expected 1, 0 or nothing"),
        (TWO + "ben,2,x,yes\n", 4, "line 4: found the value “yes”"),
        (TWO + "ben,2,x,nan\n", 4, "line 4: found the value “nan”"),
        (
            TWO + "anna,1,x,0\n",
            4,
            "line 4: found another value for the same coder, unit and code; expected the value of line 2",
        ),
        (TWO + "anna,1,x,\n", 4, "expected the value of line 2"),
        (TWO + ",2,x,1\n", 4, "line 4: found nothing in the column coder"),
        (TWO + "anna, ,x,1\n", 4, "line 4: found nothing in the column unit"),
        (TWO + "anna,2,x\n", 4, "line 4: found 3 cells; expected 4"),
        (TWO + 'anna,2,"x,1\n', 4, "line 4: found something that is not CSV"),
        (TWO.encode() + b"anna,2,\xe9,1\n", 4, "line 4: found the byte 0xE9, which is not UTF-8"),
        (TWO + "an\0na,2,x,1\n", 4, "line 4: found a NUL character"),
        (TWO.encode("utf-16"), None, "text in UTF-16"),
        (b"PK\x03\x04", None, "a zip archive or an Excel workbook"),
        ("coder,unit,code,value,turn\nanna,1,x,1,t1\nben,1,x,1,t2\n", 3, "line 3: found another turn for the unit “1”"),
        ("coder,unit,code,value,turn\nanna,1,x,1,\n", 2, "line 2: found nothing in the column turn"),
    ],
)
def test_file_that_cannot_be_used_is_refused_with_its_line(text, line, words):
    refused = refuse(text)
    assert refused.line == line
    assert words in str(refused)


@pytest.mark.parametrize("value", ["many", "1,5", "nan", "inf", "1e13", "1_0", "٣", "0x1"])
def test_what_is_no_number_on_a_scale_is_refused(value):
    refused = refuse(HEAD + f'anna,1,x,"{value}"\nben,1,x,2\n', Level.INTERVAL)
    assert refused.line == 2
    assert "with a decimal point" in str(refused)


def test_ratio_scale_refuses_numbers_below_zero():
    assert "no number below 0" in str(refuse(HEAD + "anna,1,x,-1\nben,1,x,2\n", Level.RATIO))
    assert read_ratings(HEAD + "anna,1,x,0\nben,1,x,2\n", Level.RATIO).ratings.tolist() == [[[0], [2]]]


def test_table_that_memory_would_not_hold_is_refused(monkeypatch):
    monkeypatch.setattr(label_files, "MAX_CELLS", 3)
    assert "4 judgements that could be" in str(refuse(TWO + "anna,2,x,1\n"))


def test_more_coders_than_pairs_can_be_made_of_are_refused():
    rows = "".join(f"coder {number},1,x,1\n" for number in range(101))
    assert "101 coders; expected at most 100" in str(refuse(HEAD + rows))


@given(st.binary(max_size=60), st.sampled_from([None, *Level]))
def test_no_bytes_bring_anything_but_a_table_or_a_refusal(data, level):
    with contextlib.suppress(ReadError):
        read_labels(io.BytesIO(TWO.encode() + data), level, name="labels.csv")
