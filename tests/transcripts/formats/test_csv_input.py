"""One limit for cells of CSV, whichever reader runs first."""

import ast
import csv
import io

import pytest

from auditapp.benchmarks.gender_cues.pure.reviews import ReviewFile
from auditapp.benchmarks.sob.pure.imported_results import ResultError, read_sob_results
from tests.support.instance import ROOT
from transcripts.formats.codebook_csv import COLUMNS, CodebookFileError, read_codebook
from transcripts.formats.interviews import read_bytes
from transcripts.formats.text_input import MAX_CELL_LENGTH, CsvError, explain_error, find_delimiter, read_csv


def refuse_long_definition():
    """What a codebook with a definition of a million characters is told."""
    cells = ["x" * 1_000_000 if name == "definition" else "Tone" for name in COLUMNS]
    with pytest.raises(CodebookFileError) as caught:
        read_codebook(f"{','.join(COLUMNS)}\n{','.join(cells)}\n".encode(), name="codebook.csv")
    return str(caught.value)


def test_what_a_reader_says_of_a_long_cell_does_not_depend_on_what_was_read_before():
    before = refuse_long_definition()
    assert "1,000,000" in before
    list(ReviewFile(io.BytesIO(b"text,category\nA text,woman\n"), name="f.csv"))
    with pytest.raises(ResultError):
        list(read_sob_results(b"id\n1\n", name="results.csv", task="").rows)
    assert refuse_long_definition() == before
    assert csv.field_size_limit() == MAX_CELL_LENGTH


def test_a_cell_longer_than_the_limit_is_refused_as_such():
    with pytest.raises(CsvError) as caught:
        list(read_csv([f"{'x' * (MAX_CELL_LENGTH + 1)}\n"]))
    assert explain_error(caught.value)[0] == "a cell of more than 16,000,000 characters"
    with pytest.raises(CsvError) as caught:
        list(read_csv(['"open']))
    assert explain_error(caught.value)[0].startswith("something that is not CSV")


def test_every_reader_of_csv_uses_the_one_limit():
    """A reader of its own could run before the limit is set, or set another one."""
    own = []
    for room in ("auditapp", "transcripts"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.name == "text_input.py":
                continue
            own += [path.relative_to(ROOT) for name in _list_attributes(path) if name in READERS]
    assert own == []


READERS = {"reader", "DictReader", "field_size_limit"}


def _list_attributes(path):
    """The names that a module takes from the module csv."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "csv"
    ]


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("raw,target\nx;y;z,a\n", ","),
        ("raw;target\n", ";"),
        ("raw\ttarget\n", "\t"),
        ('"a;b;c;d",target\n', ","),
        ("name\n", ","),
        ("", ","),
    ],
)
def test_the_sign_between_columns_is_the_one_that_makes_most_cells(text, delimiter):
    assert find_delimiter(text) == delimiter


def test_a_table_of_speakers_has_commas_whatever_a_quoted_heading_has():
    file = read_bytes(b'speaker,text,"a;b;c;d"\nInterviewer,Why?,1\nModel,Because.,2\n', name="a.csv")
    assert [turn.text for turn in file.interviews[0].turns] == ["Why?", "Because."]
