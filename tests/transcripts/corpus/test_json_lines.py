from __future__ import annotations

import pytest

from transcripts.corpus.pure.readers.base import ReadError
from transcripts.corpus.pure.readers.json_lines import read_lines


def test_objects_come_with_the_number_of_their_line_and_blank_lines_are_passed_over() -> None:
    lines = [b'\xef\xbb\xbf{"a": 1}\r\n', b"\n", b" \t\n", '{"b": "é"}'.encode()]
    assert list(read_lines(lines, "x.jsonl")) == [(1, {"a": 1}), (4, {"b": "é"})]
    assert list(read_lines([b"\xef\xbb\xbf", b""], "x.jsonl")) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a": "\xff"}', "0xFF, which is not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "invalid JSON"),
        (b"[1]", "a list"),
        (b'{"a": 1, "a": 2}', "twice"),
    ],
)
def test_a_line_that_is_no_object_is_refused_by_its_number(line: bytes, says: str) -> None:
    with pytest.raises(ReadError, match=says) as refused:
        list(read_lines([b"{}", line], "x.jsonl"))
    assert refused.value.line == 2


def test_the_byte_that_is_not_utf_8_is_named_also_behind_a_byte_order_mark() -> None:
    with pytest.raises(ReadError, match="0xFE"):
        list(read_lines([b'\xef\xbb\xbf{"a": "\xfe"}'], "x.jsonl"))
