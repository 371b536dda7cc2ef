import csv
import io
from collections import Counter

import pytest

from auditapp.benchmarks.sob.pure.dataset_texts import (
    TargetsError,
    load_published_targets,
    make_labels,
    simplify_label,
)
from tests.support.shared import shared


@pytest.mark.parametrize(
    "raw", ["bla, wom", "Bla, Wom", "  bla,wom ", "'bla, wom'", "['bla', 'wom']", '["bla", "wom"]', " 'bla, wom',"]
)
def test_case_quotes_brackets_and_blanks_make_no_difference(raw):
    labels = make_labels([{"raw": "bla, wom", "target": "black", "secondary": "women"}])
    assert labels.normalise(raw) == ("black", "women", "")


def test_order_of_the_parts_makes_a_difference():
    labels = make_labels([{"raw": "bla, wom", "target": "black", "secondary": "women"}])
    assert labels.normalise("wom, bla") is None
    assert labels.normalise("") is None


def test_published_table_holds_the_published_rows():
    labels = load_published_targets()
    assert len(labels.rows) == 101
    assert labels.normalise("immig, arab, ref") == ("immigrant", "refugee", "arab")
    assert labels.normalise("WOMEN") == ("women", "", "")
    assert labels.normalise("Miscellaneous Identifiable Groups") is None


def test_published_table_equals_the_released_one():
    released = shared("data/sob/demographic_normalizing.csv").read_bytes().decode("utf-8-sig")
    labels = load_published_targets()
    rows = list(csv.DictReader(io.StringIO(released, newline="")))
    assert len(rows) == 102
    for row in rows:
        expected = (row["normalized"], row["normalized_secondary"], row["normalized_tertiary"])
        assert labels.normalise(row["original"]) == expected
        assert labels.normalise(row["original2"]) == expected


def test_table_explains_all_targets_but_those_the_authors_set_by_hand():
    prepared = shared("data/sob/sob_inputs.csv").read_bytes().decode()
    labels = load_published_targets()
    others = Counter()
    for row in csv.DictReader(io.StringIO(prepared, newline="")):
        found = labels.normalise(row["target_raw"])
        if found != (row["target"], row["target_secondary"], row["target_tertiary"]):
            others[row["source"], row["target_raw"]] += 1
    assert others.total() == 241
    assert others.keys() == {
        ("ishate", "Religious Groups"),
        ("ishate", "Ethnic/Racial Minorities"),
        ("ishate", "Nationalities/Regions"),
        ("dynab", "mixed.race"),
    }


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "at least one row"),
        ([{"raw": " '' ", "target": "women"}], "Row 1 has no source label"),
        ([{"raw": "wom", "target": " "}], "Row 1 has no target"),
        (
            [{"raw": "wom", "target": "women"}, {"raw": "'WOM'", "target": "women"}],
            "Row 2 has the source label of row 1",
        ),
        ([{"raw": "wom", "target": "Overall"}], "stands for all texts"),
        ([{"raw": "wom", "target": "women", "tertiary": "black"}], "tertiary target but no secondary"),
        ([{"raw": "wom", "target": "women", "secondary": "women"}], "names one target twice"),
        ([{"raw": "wom", "target": "w" * 101}], "too long"),
        ([{"raw": "wom", "target": "wo\nmen"}], "line break"),
        ([{"raw": "wom", "target": ["women"]}], "not text"),
    ],
)
def test_senseless_table_is_refused_with_its_row(rows, sentence):
    with pytest.raises(TargetsError, match=sentence):
        make_labels(rows)


def test_label_is_compared_in_one_form():
    assert simplify_label("['Bla' ,'WOM']") == "bla, wom"
