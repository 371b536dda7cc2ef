from __future__ import annotations

from pathlib import Path

import pytest

from auditapp.sob.pure.loading.previewing import Preview, preview_file
from auditapp.sob.pure.loading.row_files import DatasetError
from auditapp.sob.pure.loading.sources import read_dataset

SOB = Path(__file__).resolve().parents[3] / "data" / "sob"
TABLE = b"""Comment,Group,ID
Cat people collect string.,cats,7
Dog people collect sticks.,dogs,8
Bird people collect seeds.,cats,9
"""


def preview(name: str) -> Preview:
    return preview_file((SOB / name).read_bytes(), name)


def test_preview_of_a_published_source_says_what_the_benchmark_takes() -> None:
    seen = preview("raw/hatecheck.csv")
    assert seen.source is not None
    assert (seen.format, seen.source.title, seen.n_rows) == ("hatecheck", "the HateCheck test suite", 5)
    assert seen.statement is not None
    assert (seen.statement.kept, seen.statement.dropped) == (3, {"not labelled hateful": 2})
    assert seen.mapping["text"] == "test_case"
    assert seen.problem is None


def test_preview_of_the_prepared_table_has_its_warnings() -> None:
    seen = preview("prepared.csv")
    assert seen.format == "sob_inputs"
    assert seen.source is None
    assert any("carriage return" in warning for warning in seen.warnings)


def test_usual_names_are_proposed_for_an_unknown_table() -> None:
    seen = preview_file(TABLE, "t.csv")
    assert seen.mapping == {"text": "Comment", "target": "Group", "external_id": "ID"}
    assert seen.rows[0].labels == {"target": "cats", "external_id": "7"}
    assert seen.rows[0].text_length == 26
    assert seen.problem is None


@pytest.mark.parametrize("path", [SOB / "prepared.csv", *sorted((SOB / "raw").iterdir())], ids=lambda path: path.name)
def test_no_text_stands_in_a_preview(path: Path) -> None:
    shown = repr(preview_file(path.read_bytes(), path.name))
    texts = {row.text.strip() for row in read_dataset(path.read_bytes(), name=path.name, all_rows=True).rows}
    assert not [text for text in texts - {"#NAME?"} if text in shown]


def test_text_mapped_to_a_label_is_shown_by_its_length_alone() -> None:
    data = b"text,target\nDog people collect sticks in the park.,dogs\n"
    seen = preview_file(data, "t.csv", {"text": "target", "target": "text"})
    assert seen.rows[0].labels == {"target": "38 characters"}
    assert "collect" not in repr(seen)


def test_examples_are_shown_of_labels_alone() -> None:
    columns = {column.name: column for column in preview_file(TABLE, "t.csv").columns}
    assert columns["Group"].examples == ("cats", "dogs")
    assert columns["Comment"].examples == ()
    assert (columns["Comment"].longest, columns["Comment"].distinct) == (26, 3)


def test_column_whose_name_may_be_a_text_is_shown_by_its_place() -> None:
    seen = preview_file(b"Cat people hum loudly.,cats\nDog people hum.,dogs\n", "t.csv")
    assert [column.shown for column in seen.columns] == ["column 1", "cats"]
    assert seen.problem is not None
    assert "hum" not in seen.problem


def test_mapping_as_chosen_so_far_is_tried() -> None:
    seen = preview_file(TABLE, "t.csv", {"text": "Comment", "target": "ID"})
    assert [row.labels["target"] for row in seen.rows] == ["7", "8", "9"]
    assert preview_file(TABLE, "t.csv", {"text": "Comment"}).problem == (
        "t.csv: found no column for target; expected a mapping such as target=COLUMN, with one of Comment, Group, ID"
    )


def test_file_that_cannot_be_opened_has_no_preview() -> None:
    with pytest.raises(DatasetError, match="carriage return outside quotes"):
        preview_file(b"text,target\ra,b\r", "t.csv")
