import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from auditapp.benchmarks.sob.pure import dataset_files
from auditapp.benchmarks.sob.pure.dataset_files import PREPARED_PROVENANCE, Provenance
from auditapp.benchmarks.sob.pure.dataset_sources import PREPARED_FORMAT, read_dataset
from auditapp.benchmarks.sob.pure.dataset_texts import DatasetText, Draw, make_labels
from auditapp.benchmarks.sob.pure.instruments import TARGETS
from tests.support.shared import shared
from transcripts.formats.problems import ReadError

DATA = Path(__file__).resolve().parents[3] / "data" / "sob"


def read_prepared():
    return list(read_dataset((DATA / "prepared.csv").read_bytes(), name="prepared.csv").rows)


def refuse(content, columns=None):
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    with pytest.raises(ReadError) as error:
        read_dataset(data, name="texts.csv", columns=columns)
    return str(error.value)


def test_prepared_table_is_known_by_its_header_and_read_whole():
    content = read_dataset((DATA / "prepared.csv").read_bytes(), name="prepared.csv")
    assert content.format == PREPARED_FORMAT
    assert len(content.rows) == 8
    assert content.rows[1] == DatasetText(
        source="dynab",
        external_id="2",
        text='Dog people walk too loudly, they say "always".',
        target="dog people",
        target_secondary="cat people",
        target_raw="dogs",
        kind="derogation",
    )
    assert content.rows[5].target_tertiary == "dog people"


def test_line_breaks_inside_quotes_are_kept_as_they_are():
    rows = read_prepared()
    assert rows[3].text == "Dog people\nhum in lifts."
    assert rows[5].text == "Bird people\rwhistle at dawn."


def test_odd_rows_are_kept_and_named_by_number_without_their_text():
    content = read_dataset((DATA / "prepared.csv").read_bytes(), name="prepared.csv")
    assert content.warnings == (
        "row 3: the text is a spreadsheet's error mark such as #NAME?; the original is lost",
        "row 4: the text contains a line feed, which is kept",
        "row 6: the text contains a carriage return, which is kept",
        "rows 1, 5: the same text in more than one source",
        "rows 7, 8: the same text more than once in one source",
    )


def test_json_lines_are_read_by_column_mapping():
    columns = {"text": "sentence", "target": "group", "external_id": "id"}
    content = read_dataset((DATA / "mapped.jsonl").read_bytes(), name="mapped.jsonl", columns=columns)
    assert content.format == "jsonl"
    assert content.rows[0] == DatasetText("mapped.jsonl", "7", "Cat people collect string.", "cat people")
    assert content.rows[1].text == "Dog people collect sticks.\u2028All of them."
    assert content.warnings == ("row 2: no target; the text counts only in overall",)


@pytest.mark.parametrize(
    "content",
    ["text,target\na,b\n", "\ufefftext;target\r\na;b\r\n", "text\ttarget\na\tb", '\n\n{"text": "a", "target": "b"}\n'],
)
def test_file_with_columns_named_text_and_target_needs_no_mapping(content):
    assert read_dataset(content.encode(), name="f").rows == (DatasetText("f", "1", "a", "b"),)


def test_row_number_stands_in_for_a_missing_id_and_the_file_for_a_missing_source():
    content = read_dataset(b"source,text,target\ns,a,x\n,b,x\n", name="f.csv")
    assert [(row.source, row.external_id) for row in content.rows] == [("s", "1"), ("f.csv", "2")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "texts.csv: found an empty file"),
        (b"text,target\n", "texts.csv: found no rows"),
        (b"text,target\na,b\n \n", "texts.csv, line 3: found 1 cell; expected 2, one under each heading"),
        (b"text,target\na,b\n\n  ,c\n", "texts.csv, line 4: found no text in row 2"),
        (b'text,target\n"a\nb",c\n"d,e\n', "texts.csv, line 4: found something that is not CSV"),
        (b"text,target\ra,b\r", "texts.csv, line 1: found a carriage return outside quotes"),
        (b"text,target\na,b\nc\xff,d\n", "texts.csv, line 3: found the byte 0xFF, which is not UTF-8"),
        (b"text,target\na\x00,b\n", "texts.csv, line 2: found a NUL character"),
        (b"text,target,text\na,b,c\n", "texts.csv, line 1: found the column text more than once"),
        # Compared each with each, so many names would take minutes.
        (",".join(map(str, range(200_000))), "texts.csv: found more than 1,000 columns"),
        (b"text,target\na,overall\n", 'texts.csv, line 2: found the target "overall" in row 1'),
        ("text,target\na," + "b" * 101, "texts.csv, line 2: found 101 characters as target in row 1"),
        (b"text,target,external_id\na,b,1\nc,d,1\n", "texts.csv, line 3: found the source and external_id of row 1"),
        (b"text,target,external_id\na,b,\n", "texts.csv, line 2: found an empty external_id in row 1"),
        (b"PK\x03\x04", "texts.csv: found a zip archive or an Excel workbook"),
        (b"\x1f\x8b", "texts.csv: found a gzip file that breaks off"),
        (b"PAR1", "texts.csv: found a parquet file that cannot be read"),
        (b'{"text": "a", "target": "b"}\n{"text": 1, "target": "b"}', "texts.csv, line 2: found no text in row 2"),
        (b'{"text": "a", "target": "b"}\n{"target": "b"}', "texts.csv, line 2: found no text in row 2"),
        (b'{"text": "a", "target": ["b"]}', "texts.csv, line 1: found an object, a list or a truth value as target"),
        (b'{"text": "\\u0000a", "target": "b"}', "texts.csv, line 1: found a NUL character or half a surrogate pair"),
        (b'{"text": "\\ud800", "target": "b"}', "texts.csv, line 1: found a NUL character or half a surrogate pair"),
        (b'\n{"text": "a",\n', "texts.csv, line 2: found JSON that breaks off"),
        (b'{"text": "a", "target": "b"}\n[]', "texts.csv, line 2: found a list; expected one JSON object on each line"),
    ],
)
def test_unreadable_file_is_refused_with_place_finding_and_expectation(content, message):
    refusal = refuse(content)
    assert refusal.startswith(message)
    assert "; expected " in refusal


def test_missing_column_is_answered_with_the_columns_there_are():
    assert refuse("sentence,group\na,b\n") == (
        "texts.csv: found no column for text; expected a mapping such as text=COLUMN, with one of sentence, group."
    )
    assert refuse("a,b\nx,y\n", {"text": "c", "target": "b"}) == (
        'texts.csv: found no column "c" for text; expected one of a, b.'
    )
    assert refuse("a,b\nx,y\n", {"words": "a"}).startswith(
        'texts.csv: found a mapping of "words"; expected one of text'
    )


def test_text_never_stands_in_an_error_even_where_it_is_taken_for_a_header():
    headerless = "Cat people never return borrowed books.,cats\nDog people hum.,dogs\n"
    assert "never" not in refuse(headerless)
    assert "hum" not in refuse('text,target\n"Dog people hum" loudly,dogs\n')
    assert "hum" not in refuse('{"text": "Dog people hum" "target": 1}\n')


def test_label_of_the_source_is_enough_where_a_table_names_the_targets():
    labels = make_labels([{"raw": "wom", "target": "women", "secondary": "black"}])
    content = read_dataset(b"text,target_raw\na,'WOM'\nb,xyz\nc,\n", name="f.csv", targets="table", labels=labels)
    assert [(row.target, row.target_secondary, row.target_raw) for row in content.rows] == [
        ("women", "black", "'WOM'"),
        ("", "", "xyz"),
        ("", "", ""),
    ]
    assert content.warnings == (
        "row 3: no target; the text counts only in overall",
        "1 text has a label missing from the study's table of targets and counts only in overall: “xyz” (1)",
    )
    assert refuse("text,target_raw\na,b\n").startswith("texts.csv: found no column for target")


def test_unknown_label_as_long_as_a_text_is_counted_and_not_shown():
    labels = make_labels([{"raw": "wom", "target": "women"}])
    data = b"text,target\na," + b"never " * 12 + b"\n"
    (warning,) = read_dataset(data, name="f.csv", targets="table", labels=labels).warnings
    assert "never" not in warning
    assert warning.endswith(": 1 more")


def test_sample_is_drawn_from_what_is_left_without_repetitions():
    lines = "".join(f"t{number % 6},{'ab'[number % 2]}\n" for number in range(8))
    content = read_dataset(
        ("text,target\n" + lines).encode(), name="f.csv", drops_repeated=True, draw=Draw(4, "stratum", "target", 1)
    )
    assert content.statement.write() == {
        "method": "stratum",
        "seed": 1,
        "by": "target",
        "size": 4,
        "read": 8,
        "kept": 4,
        "dropped": {"the same text again in its source": 2, "not drawn": 2},
        "strata": {"a": {"read": 3, "kept": 2}, "b": {"read": 3, "kept": 2}},
    }
    assert content.warnings == ("rows 7, 8: the same text again in its source; dropped",)


def test_raw_source_is_read_by_explicit_mapping():
    content = b"functionality,case_id,test_case,label_gold,target_ident\nf,1,a,hateful,cats\n"
    columns = {"text": "test_case", "target": "target_ident"}
    assert read_dataset(content, name="f", columns=columns).rows == (DatasetText("f", "1", "a", "cats"),)


def test_benchmark_input_is_read_with_every_row_and_known_warnings():
    path = shared("data/sob/sob_inputs.csv")
    content = read_dataset(path.read_bytes(), name=path.name)
    by_target = Counter(row.target for row in content.rows)
    assert content.format == PREPARED_FORMAT
    assert len(content.rows) == 2457
    assert tuple(target for target, _ in by_target.most_common(10)) == TARGETS
    assert sum("\r" in row.text for row in content.rows) == 29
    assert sum("\n" in row.text for row in content.rows) == 3
    assert max(len(row.text) for row in content.rows) == 775
    assert sum(bool(row.target_secondary) for row in content.rows) == 299
    assert len(content.warnings) == 4
    assert next(each for each in content.warnings if "line feed" in each).count("2233") == 1
    assert any("#NAME?" in warning for warning in content.warnings)
    assert content.provenance.source_name.startswith("Second-order bias")
    assert content.provenance.licence.startswith("Apache-2.0")


def test_prepared_table_is_on_record_by_its_texts_not_by_its_header(monkeypatch):
    data = (DATA / "prepared.csv").read_bytes()
    content = read_dataset(data, name="prepared.csv")
    assert (content.format, content.provenance) == (PREPARED_FORMAT, Provenance())
    lines = sorted(json.dumps([row.source, row.external_id, row.text]) for row in content.rows)
    fingerprint = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    monkeypatch.setattr(dataset_files, "PREPARED_FINGERPRINT", fingerprint)
    sample = read_dataset(data, name="prepared.csv", draw=Draw(2))
    assert sample.provenance == PREPARED_PROVENANCE
    assert all(len(value) <= limit for value, limit in zip(PREPARED_PROVENANCE[:2], (100, 200), strict=True))
