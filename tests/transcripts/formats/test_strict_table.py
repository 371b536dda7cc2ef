"""A strict table: what is read, and what is refused with its line."""

import io

import pytest

from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import StrictTable


def read(data, **options):
    return list(StrictTable(io.BytesIO(data), name="f.csv", needed=("a", "b"), **options))


def test_rows_come_with_the_line_on_which_they_begin():
    data = b'\xef\xbb\xbf\r\n b ,a\r\n1,"x\r\ny"\r\n,\r\n\r\n2,z'
    assert read(data) == [(3, ["1", "x\r\ny"]), (7, ["2", "z"])]


def test_apostrophes_of_our_exports_are_taken_off_once_and_only_on_request():
    data = b"a,b\n'=1,''-2\n'tis,x\n3,'+4\n"
    assert [cells for _, cells in read(data)] == [["=1", "'-2"], ["'tis", "x"], ["3", "+4"]]
    assert [cells for _, cells in read(data, escaped=False)] == [["'=1", "''-2"], ["'tis", "x"], ["3", "'+4"]]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "f.csv: found an empty file; expected the columns a, b."),
        (b"\n , \n", "f.csv: found an empty file"),
        (b"a;b\n", "f.csv, line 1: found columns separated by semicolons; expected by commas."),
        (b"\na|b\n", "f.csv, line 2: found columns separated by vertical bars"),
        (b"a,c\n", "f.csv, line 1: found no column b (there are a, c); expected the columns a, b."),
        (b"a,what somebody said,\n", "(there are a, 2 whose name is empty or reads like a text)"),
        (b"a,b,a\n", "f.csv, line 1: found the column a more than once; expected it once."),
        (b"a,b,so it is,so it is\n", "f.csv, line 1: found a column more than once"),
        (b"a,b\n1\n", "f.csv, line 2: found 1 cell; expected 2, one under each heading"),
        (b'a,b\n1,"2\n3,4\n', "f.csv, line 2: found something that is not CSV"),
        (b"a,b\n1,2\r3,4\n", "f.csv, line 2: found a carriage return outside quotes"),
        (b"a,b\n1,\xe9\n", "f.csv, line 2: found the byte 0xE9, which is not UTF-8"),
        (b"a,b\n1,\0\n", "f.csv, line 2: found a NUL character"),
        ("a,b\n".encode("utf-16"), "f.csv: found text in UTF-16; expected a CSV file"),
        (b"PK\x03\x04", "f.csv: found a zip archive or an Excel workbook"),
    ],
)
def test_what_is_no_such_table_is_refused_with_its_place(data, says):
    with pytest.raises(ReadError) as refused:
        read(data)
    assert says in str(refused.value)


def test_headings_of_a_file_without_them_are_not_shown():
    with pytest.raises(ReadError) as refused:
        read(b"what somebody said,1\nwhat another said,0\n")
    assert "somebody" not in str(refused.value)
