from pathlib import Path

import pytest

from auditapp.benchmarks.sob.pure.dataset_sources import preview_file, read_dataset
from transcripts.formats.problems import ReadError

SOB = Path(__file__).resolve().parents[4] / "data" / "sob"
TABLE = b"""Comment,Group,ID
Cat people collect string.,cats,7
Dog people collect sticks.,dogs,8
Bird people collect seeds.,cats,9
"""


def preview(name):
    return preview_file((SOB / name).read_bytes(), name)


def test_a_published_source_is_recognised():
    seen = preview("raw/hatecheck.csv")
    assert seen.source is not None
    assert (seen.format, seen.source.title, seen.n_rows) == ("hatecheck", "the HateCheck test suite", 5)
    assert seen.mapping["text"] == "test_case"


def test_the_prepared_table_is_recognised():
    seen = preview("prepared.csv")
    assert seen.format == "sob_inputs"
    assert seen.source is None


def test_usual_names_are_proposed_for_an_unknown_table():
    seen = preview_file(TABLE, "t.csv")
    assert seen.mapping == {"text": "Comment", "target": "Group", "external_id": "ID"}
    assert seen.format == "csv"


@pytest.mark.parametrize("path", [SOB / "prepared.csv", *sorted((SOB / "raw").iterdir())], ids=lambda path: path.name)
def test_no_text_stands_in_a_preview(path):
    shown = repr(preview_file(path.read_bytes(), path.name))
    texts = {row.text.strip() for row in read_dataset(path.read_bytes(), name=path.name, all_rows=True).rows}
    assert not [text for text in texts - {"#NAME?"} if text in shown]


def test_examples_are_shown_of_labels_alone():
    columns = {name: examples for name, _, examples in preview_file(TABLE, "t.csv").columns}
    assert columns["Group"] == ("cats", "dogs")
    assert columns["Comment"] == ()


def test_column_whose_name_may_be_a_text_is_shown_by_its_place():
    seen = preview_file(b"Cat people hum loudly.,cats\nDog people hum.,dogs\n", "t.csv")
    assert [shown for _, shown, _ in seen.columns] == ["column 1", "cats"]
    assert "hum" not in repr([shown for _, shown, _ in seen.columns])


def test_file_that_cannot_be_opened_has_no_preview():
    with pytest.raises(ReadError, match="carriage return outside quotes"):
        preview_file(b"text,target\ra,b\r", "t.csv")
