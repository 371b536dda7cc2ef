"""The pages of the tables of targets."""

import csv
import io
import re

import pytest
from django.urls import reverse

from auditapp.benchmarks.sob.models import TargetTable
from auditapp.benchmarks.sob.pure.dataset_texts import load_published_targets
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.benchmarks.sob.texts.actions.tables import save_targets
from auditapp.benchmarks.sob.texts.forms import read_pasted
from transcripts.refusals import Refused

ROWS = [{"raw": "elves", "target": "elf", "secondary": "", "tertiary": ""}]


@pytest.fixture
def table(study, owner):
    return save_targets(study=study, rows=ROWS, reason="Elves are missing.", by=owner)


@pytest.fixture
def labelled(study, owner):
    content = (
        "text,target_raw\nConstructed one.,women\nConstructed two.,dwarfs\nConstructed three.,dwarfs\nFour.,elves\n"
    )
    loaded = load_dataset(
        study=study, name="Labelled", file_name="x.csv", data=content.encode(), targets="published", by=owner
    )
    return loaded[0]


def test_the_published_table_and_every_version_are_listed(study, table, coder, client_of):
    page = client_of(coder).get(reverse("sob:targets", args=[study.slug])).content.decode()
    assert "Elves are missing." in page
    assert f"{len(load_published_targets().rows)} labels" in page
    assert "Write the next version" not in page


def test_the_newest_version_stands_first(study, table, owner, coder, client_of):
    rows = [*ROWS, {"raw": "dwarfs", "target": "dwarf", "secondary": "", "tertiary": ""}]
    save_targets(study=study, rows=rows, reason="Dwarfs too.", by=owner)
    page = client_of(coder).get(reverse("sob:targets", args=[study.slug]))
    assert [each.number for each in page.context["tables"]] == [2, 1]


def test_labels_that_the_table_lacks_are_shown_with_their_counts(study, labelled, owner, lead, client_of):
    url = reverse("sob:targets", args=[study.slug])
    page = " ".join(client_of(lead).get(url, {"dataset": labelled.pk}).content.decode().split())
    assert '<th scope="row" class="short">dwarfs</th><td class="num">2</td>' in page
    assert '<th scope="row" class="short">elves</th><td class="num">1</td>' in page
    assert '<th scope="row" class="short">women</th><td class="num">' not in page
    save_targets(study=study, rows=ROWS, reason="Elves.", by=owner)
    page = client_of(lead).get(url, {"dataset": labelled.pk}).content.decode()
    assert "dwarfs" in page
    assert "of Labelled are not in table 1" in page
    edit = client_of(lead).get(reverse("sob:target_edit", args=[study.slug]), {"dataset": labelled.pk})
    assert 'value="dwarfs" aria-label="Source’s label, 2 texts have no target"' in edit.content.decode()


def test_a_set_that_is_none_shows_no_labels(study, coder, client_of):
    for dataset in ["", "x", "-1", "٣", "9" * 30, "999999"]:
        assert client_of(coder).get(reverse("sob:targets", args=[study.slug]), {"dataset": dataset}).status_code == 200


class TestOneVersion:
    def test_it_shows_its_rows_reason_hash_and_what_was_loaded_with_it(self, study, table, owner, coder, client_of):
        load_dataset(
            study=study,
            name="With it",
            file_name="x.csv",
            data=b"text,target\nConstructed.,elves\n",
            targets="table",
            target_table=table,
            by=owner,
        )
        page = client_of(coder).get(reverse("sob:target_table", args=[study.slug, 1])).content.decode()
        for words in ("elves", "Elves are missing.", table.sha256, "With it"):
            assert words in page

    def test_its_csv_can_be_pasted_again(self, study, table, coder, client_of):
        got = client_of(coder).get(reverse("sob:target_table", args=[study.slug, 1]), {"format": "csv"})
        assert got["Content-Type"].startswith("text/csv")
        assert read_pasted(got.content.decode()) == ROWS

    def test_its_csv_starts_no_formula_and_comes_back_unchanged(self, study, owner, coder, client_of):
        rows = [{"raw": "=1+1", "target": "@elf", "secondary": "'=dwarf", "tertiary": ""}]
        save_targets(study=study, rows=rows, reason="Odd.", by=owner)
        got = client_of(coder).get(reverse("sob:target_table", args=[study.slug, 1]), {"format": "csv"})
        assert got.content.decode().splitlines()[1] == "'=1+1,'@elf,''=dwarf,"
        assert read_pasted(got.content.decode()) == rows

    def test_a_number_that_is_none_is_not_found(self, study, coder, client_of):
        assert client_of(coder).get(reverse("sob:target_table", args=[study.slug, 7])).status_code == 404


class TestWriting:
    def test_the_form_begins_with_the_published_table_and_then_with_the_newest(self, study, owner, lead, client_of):
        url = reverse("sob:target_edit", args=[study.slug])
        assert 'value="middle eastern folks"' in client_of(lead).get(url).content.decode()
        save_targets(study=study, rows=ROWS, reason="Elves.", by=owner)
        page = client_of(lead).get(url).content.decode()
        assert 'value="middle eastern folks"' not in page
        assert 'value="elves"' in page
        assert "Write table 2" in page

    def test_rows_are_typed_and_one_without_a_target_is_left_out(self, study, lead, client_of):
        typed = {
            "based_on": "0",
            "reason": "Ours.",
            "raw": ["elves", "open label", ""],
            "target": ["elf", "", ""],
            "secondary": ["women", "", ""],
            "tertiary": ["", "", ""],
        }
        got = client_of(lead).post(reverse("sob:target_edit", args=[study.slug]), typed)
        assert got.status_code == 302
        table = TargetTable.objects.get()
        assert table.rows == [{"raw": "elves", "target": "elf", "secondary": "women", "tertiary": ""}]
        assert (table.number, table.reason, table.made_by) == (1, "Ours.", lead)

    def test_pasted_rows_take_the_place_of_the_typed_ones(self, study, lead, client_of):
        typed = {
            "based_on": "0",
            "reason": "Ours.",
            "pasted": 'raw,target\r\n"bla, wom",black\r\n',
            "raw": ["x"],
            "target": ["y"],
        }
        client_of(lead).post(reverse("sob:target_edit", args=[study.slug]), typed)
        assert [row["raw"] for row in TargetTable.objects.get().rows] == ["bla, wom"]

    def test_what_is_no_table_is_told_and_nothing_typed_is_lost(self, study, lead, client_of):
        cases = [
            ({"raw": ["elves"], "target": ["elf"]}, "This field is required"),
            ({"reason": "x"}, "needs at least one row"),
            ({"reason": "x", "pasted": "elves,overall"}, "stands for all texts"),
            ({"reason": "x", "pasted": "elves,elf\nElves,elf"}, "Row 2 has the source label of row 1"),
            ({"reason": "x", "pasted": "just words"}, "no line has a second field"),
            ({"reason": "x", "raw": ["a"], "target": [""], "secondary": ["b"], "tertiary": [""]}, "no target"),
        ]
        for typed, sentence in cases:
            padded = {"based_on": "0", "secondary": [""], "tertiary": [""], **typed}
            got = client_of(lead).post(reverse("sob:target_edit", args=[study.slug]), padded)
            assert got.status_code == 422
            page = got.content.decode()
            assert sentence in page
            assert str(typed.get("pasted", "")).partition("\n")[0] in page
            assert not TargetTable.objects.exists()

    def test_whoever_was_overtaken_is_told_and_may_save_again(self, study, owner, lead, client_of):
        url, client = reverse("sob:target_edit", args=[study.slug]), client_of(lead)
        assert 'name="based_on" value="0"' in client.get(url).content.decode()
        save_targets(study=study, rows=ROWS, reason="Elves.", by=owner)
        wrong = client.post(url, {"reason": "", "based_on": "0"})
        typed = {"reason": "Ours.", "pasted": "dwarfs,dwarf", "based_on": "0"}
        got = client.post(url, typed)
        assert 'name="based_on" value="0"' in wrong.content.decode()
        assert got.status_code == 409
        page = got.content.decode()
        assert "owner wrote target table 1 after you opened this page" in page
        assert 'name="based_on" value="1"' in page
        assert TargetTable.objects.count() == 1
        assert client.post(url, {**typed, "based_on": "1"}).status_code == 302

    def test_a_table_too_long_to_type_is_written_as_csv(self, study, owner, lead, client_of):
        rows = [{"raw": f"label {number}", "target": "elf"} for number in range(500)]
        save_targets(study=study, rows=rows, reason="Many.", by=owner)
        page = client_of(lead).get(reverse("sob:target_edit", args=[study.slug])).content.decode()
        assert "label 499,elf,," in page
        assert 'name="raw"' not in page


def test_the_columns_of_the_released_table_are_known_by_name():
    pasted = "original,original2,normalized,normalized_secondary\nwom,'wom',women,\n"
    assert read_pasted(pasted) == [{"raw": "wom", "target": "women", "secondary": ""}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_pasted_rows_are_read_whatever_separates_them(delimiter):
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows([["RAW", "Target"], ["elves", "elf"], ["", ""]])
    assert read_pasted(written.getvalue()) == [{"raw": "elves", "target": "elf"}]


@pytest.mark.parametrize(
    ("pasted", "says"),
    [
        ("raw,target\nelves,elf\norcs,orc,monster", "line 3: found 3 cells; expected 2, one under each heading"),
        ("elves,elf,,,dwarves", "line 1: found 5 cells; expected 4, one under each heading"),
        ("original,raw,target\nelves,elves,elf", "line 1: found the column raw more than once; expected it once"),
        ('elves,"an elf\nof old"\norcs,"a\rb"c\n\n' + "x" * 16_000_001, "line 5: found a cell of more than"),
    ],
)
def test_what_is_wrong_in_pasted_rows_is_named_with_its_line(pasted, says):
    with pytest.raises(Refused, match=rf"^Rows as CSV, {re.escape(says)}"):
        read_pasted(pasted)


def test_cells_at_the_end_of_a_pasted_row_may_be_left_out_or_empty():
    assert read_pasted("raw,target,secondary\nelves,elf\norcs,orc,monster,,") == [
        {"raw": "elves", "target": "elf"},
        {"raw": "orcs", "target": "orc", "secondary": "monster"},
    ]


@pytest.mark.parametrize("pasted", ["garbage", "garbage\nand more"])
def test_what_has_no_second_column_is_said_to_be_no_table(pasted):
    with pytest.raises(Refused, match="no line has a second field"):
        read_pasted(pasted)
