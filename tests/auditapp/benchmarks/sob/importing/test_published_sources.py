import csv
import io
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from auditapp.benchmarks.sob.pure.dataset_files import (
    DYNAB,
    HATECHECK,
    ISHATE,
    PUBLISHED_SOURCES,
    ReleasedDraw,
    Row,
    draw_as_released,
    share_as_released,
)
from auditapp.benchmarks.sob.pure.dataset_sources import read_dataset
from auditapp.benchmarks.sob.pure.dataset_texts import SAME_AGAIN, Draw, SampleError
from tests.support.shared import shared
from transcripts.formats.problems import ReadError

RAW = Path(__file__).resolve().parents[4] / "data" / "sob" / "raw"
DOWNLOADED = {
    "hatecheck": "hatecheck_test.csv",
    "ishate": "ishate_test.csv.gz",
    "linghate": "linguistic_informed_data.csv",
    "toxigen": "toxigen_annotated_test.csv",
    "dynab": "dynab_sampled_500.csv",
}


def read(name, **wishes):
    return read_dataset((RAW / name).read_bytes(), name=name, **wishes)


def make_rows(labels, column="label"):
    return [Row(number, number, {column: label, "n": number}) for number, label in enumerate(labels, start=1)]


def read_prepared(source):
    data = shared("data/sob/sob_inputs.csv").read_bytes().decode()
    for row in csv.DictReader(io.StringIO(data, newline="")):
        if row["source"] == source:
            yield row["text"], row["target_raw"], row["type"]


class TestInventedFiles:
    @pytest.mark.parametrize(
        ("file", "key", "ids"),
        [
            ("hatecheck.csv", "hatecheck", ["101", "102", "104"]),
            ("toxigen.csv", "toxigen", ["1", "3", "4"]),
            ("dynab.csv", "dynab", ["acl1", "acl5"]),
            ("linghate.csv", "linghate", ["1", "2", "3", "5"]),
            ("ishate.csv.gz", "ishate", ["1", "2", "4"]),
            ("ishate.parquet", "ishate", ["1", "2", "4"]),
        ],
    )
    def test_source_is_known_by_its_header_and_filtered(self, file, key, ids):
        content = read(file)
        assert content.format == key
        assert {row.source for row in content.rows} == {key}
        assert [row.external_id for row in content.rows] == ids
        assert content.targets == "published"

    def test_every_dropped_row_has_its_reason(self):
        content = read("dynab.csv")
        assert content.statement.dropped == {
            "not of the test split": 1,
            "not labelled hate": 1,
            "no target recorded": 1,
        }
        assert content.statement.read == content.statement.kept + sum(content.statement.dropped.values())

    def test_exactly_two_and_a_half_is_not_toxic_enough(self):
        assert read("toxigen.csv").statement.dropped == {"human toxicity of 2.5 or less": 1}

    def test_repeated_sentence_is_dropped_and_taken_off_its_stratum(self):
        content = read("linghate.csv")
        assert content.statement.dropped == {SAME_AGAIN: 1}
        assert content.statement.strata["Jews"] == {"read": 2, "kept": 1}
        assert content.warnings == (f"row 4: {SAME_AGAIN}; dropped",)

    def test_quotes_within_a_sentence_are_kept_and_those_around_it_dropped(self):
        texts = [row.text for row in read("linghate.csv").rows]
        assert texts[0] == "Cat people overwater everything!"
        assert texts[1] == 'Dog people escape from "the puddle" daily.'

    def test_published_table_names_three_targets_and_an_unknown_label_none(self):
        first, second = read("dynab.csv").rows
        assert (first.target, first.target_secondary, first.target_tertiary) == ("black", "women", "lgbtq")
        assert (second.target, second.target_secondary, second.target_raw) == ("disabled", "lgbtq", "'dis, trans'")
        unknown = read("ishate.csv.gz")
        assert (unknown.rows[2].target, unknown.rows[2].target_raw) == ("", "Miscellaneous Identifiable Groups")
        assert unknown.warnings == (
            (
                "1 text has a label missing from the published table of targets and counts only in overall: "
                "“Miscellaneous Identifiable Groups” (1)"
            ),
        )

    def test_all_rows_are_read_without_filter_on_request(self):
        content = read("hatecheck.csv", all_rows=True)
        assert len(content.rows) == 5
        assert content.statement.write() == {}
        assert content.provenance.filter == ""
        assert content.rows[4].target == ""

    def test_own_draw_takes_the_place_of_the_released_one_after_the_filter(self):
        content = read("hatecheck.csv", draw=Draw(2, "simple", seed=7))
        assert content.statement.dropped == {"not labelled hateful": 2, "not drawn": 1}
        assert (content.statement.read, content.statement.kept, content.statement.seed) == (5, 2, 7)
        with pytest.raises(SampleError, match="4 texts cannot be drawn from 3"):
            read("hatecheck.csv", draw=Draw(4))

    def test_explicit_mapping_reads_every_row_and_names_targets_by_the_file(self):
        columns = {"text": "test_case", "target": "target_ident"}
        content = read("hatecheck.csv", columns=columns)
        assert len(content.rows) == 5
        assert content.targets == "file"
        assert content.rows[0].target == "women"
        assert content.provenance.source_name.startswith("HateCheck")

    def test_file_targets_are_the_sources_own_labels(self):
        assert [row.target for row in read("hatecheck.csv", targets="file").rows] == [
            "women",
            "trans people",
            "Muslims",
        ]

    def test_toxicity_that_is_no_number_is_refused_with_its_row(self):
        data = b"text,target_group,framing,toxicity_human\na,women,moral,4\nb,women,moral,high\n"
        with pytest.raises(ReadError, match="line 3: found no number as toxicity_human in row 2"):
            read_dataset(data, name="t.csv")

    def test_source_without_a_wanted_row_is_refused(self):
        data = b"functionality,case_id,test_case,label_gold,target_ident\nf,1,a,non-hateful,women\n"
        with pytest.raises(ReadError, match="no row where label_gold is hateful"):
            read_dataset(data, name="t.csv")

    def test_each_source_puts_its_licence_on_record(self):
        assert all(source.provenance.licence and source.provenance.source_name for source in PUBLISHED_SOURCES)
        assert read("toxigen.csv").provenance.filter == "toxicity_human is above 2.5"


class TestReleasedDraw:
    def test_simple_draw_takes_the_rows_pandas_samples(self):
        rows = make_rows(["a"] * 900)
        expected = pd.DataFrame({"n": range(1, 901)}).sample(n=500, random_state=42)["n"]
        assert [row.number for row in draw_as_released(HATECHECK.draw, rows)[0]] == sorted(expected)

    def test_strata_are_drawn_as_pandas_samples_each_of_them(self):
        labels = ["a"] * 700 + ["b"] * 401 + ["c"] * 33
        frame = pd.DataFrame({"n": range(1, len(labels) + 1), "label": labels})
        drawn, statement, _ = draw_as_released(ReleasedDraw("label", "kind"), make_rows(labels))
        expected = []
        for label, counts in statement.strata.items():
            part = frame[frame["label"] == label]
            expected.extend(part.sample(n=counts["kept"], random_state=42)["n"])
        assert [row.number for row in drawn] == sorted(expected)
        assert statement.kept == 500

    @pytest.mark.parametrize(
        ("sizes", "size", "shares"),
        [
            ({"a": 782, "b": 545, "c": 491, "d": 403}, 500, {"a": 175, "b": 123, "c": 111, "d": 91}),
            ({"a": 1, "b": 1, "c": 1}, 4, {"a": 2, "b": 1, "c": 1}),
            ({"a": 5, "b": 5, "c": 5}, 1, {"a": 1, "b": 0, "c": 0}),
        ],
    )
    def test_what_rounding_leaves_over_goes_to_the_largest(self, sizes, size, shares):
        assert share_as_released(sizes, size) == shares

    def test_rows_of_the_kept_value_are_all_taken(self):
        rows = [
            Row(n, n, {"implicit_layer": "Implicit HS" if n % 4 == 0 else "Explicit HS", "target": "x"})
            for n in range(1, 801)
        ]
        _, statement, _ = draw_as_released(ISHATE.draw, rows)
        assert statement.strata == {
            "Implicit HS": {"read": 200, "kept": 200},
            "x": {"read": 600, "kept": 300},
        }

    def test_fewer_rows_than_the_sample_are_all_kept(self):
        _, statement, _ = draw_as_released(DYNAB.draw, make_rows(["a", "b"], "type"))
        assert (statement.kept, statement.dropped) == (2, {})


class TestDownloadedFiles:
    @pytest.mark.parametrize("key", DOWNLOADED)
    def test_rows_taken_are_the_authors_rows(self, key):
        path = shared(f"data/sob/raw/{DOWNLOADED[key]}")
        content = read_dataset(path.read_bytes(), name=path.name)
        ours = Counter((row.text, row.target_raw, row.kind) for row in content.rows)
        theirs = Counter(read_prepared(key))
        missing, more = theirs - ours, ours - theirs
        if key == "linghate":  # its tix 62 was damaged by a spreadsheet there
            assert missing == Counter([("#NAME?", "Jews", "ABUSE")])
            assert [(text[:1], *labels) for text, *labels in more.elements()] == [("+", "Jews", "ABUSE")]
        else:
            assert not missing
            assert not more

    def test_parquet_and_csv_of_one_table_give_the_same_texts(self):
        files = [shared(f"data/sob/raw/{name}") for name in ("ishate_test.csv.gz", "ishate_test.parquet.gzip")]
        from_csv, from_parquet = (read_dataset(path.read_bytes(), name="ishate") for path in files)
        assert from_csv.rows == from_parquet.rows
        assert from_csv.statement == from_parquet.statement
