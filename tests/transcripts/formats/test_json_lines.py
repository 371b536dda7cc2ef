import pytest

from transcripts.formats.json_lines import read_lines
from transcripts.formats.problems import ReadError


def test_objects_come_with_the_number_of_their_line_and_blank_lines_are_passed_over():
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
        (b'{"a" : 1, "a": 2}', "twice"),
        (b'{"a"\t:1,"a"\r:2}', "twice"),
        (b'{"a": {"b": 1, "b": 1}}', "twice"),
        (b'{"a": [{"b": {"c": 1, "c": 1}}]}', "twice"),
        (b'{"a": "a key: \\"b\\":", "a": 2}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1} {}', "more text"),
    ],
)
def test_a_line_that_is_no_object_is_refused_by_its_number(line, says):
    with pytest.raises(ReadError, match=says) as refused:
        list(read_lines([b"{}", line], "x.jsonl"))
    assert refused.value.line == 2


@pytest.mark.parametrize(
    ("line", "content"),
    [
        (b'{"a" : {"b": 1}, "c"\t: [{"d": 2}]}', {"a": {"b": 1}, "c": [{"d": 2}]}),
        (b'{"a": "it says \\"b\\": and goes on"}', {"a": 'it says "b": and goes on'}),
        (b'{"a": {"b": {"c": {}}}, "d": "12:30"} ', {"a": {"b": {"c": {}}}, "d": "12:30"}),
    ],
)
def test_spaces_objects_inside_and_texts_like_keys_are_read_all_the_same(line, content):
    assert list(read_lines([line], "x.jsonl")) == [(1, content)]


def test_the_byte_that_is_not_utf_8_is_named_also_behind_a_byte_order_mark():
    with pytest.raises(ReadError, match="0xFE"):
        list(read_lines([b'\xef\xbb\xbf{"a": "\xfe"}'], "x.jsonl"))
