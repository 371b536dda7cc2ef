"""What ``make bench`` says of a run beside the kept ratios."""

import ast
import importlib.util
from pathlib import Path

import pytest

from auditapp.site.serving import APPLICATION
from perf.results import Row, compare, describe_ratios, keep, read_kept
from perf.serving import FLOOR, PRODUCT

SAVE, SHARE = "save one code", "share of a bare loop"


def make_rows(save, share):
    return [
        Row(SAVE, "", rounds=save),
        Row(SHARE, "", rounds=share, higher_is_better=True),
        Row("a time alone", "3 s"),
    ]


KEPT = describe_ratios(make_rows([3.0, 2.9, 3.1], [0.9, 0.92, 0.88]))


def test_the_file_keeps_medians_and_spreads_of_what_was_measured(tmp_path):
    file = tmp_path / "ratios.json"
    keep(KEPT, "full", measured={"load_average": 0.5}, file=file)
    keep(describe_ratios([Row(SAVE, "", rounds=[4.0])]), "full", measured={"load_average": 0.7}, file=file)
    keep(KEPT, "small", measured={}, file=file)
    kept = read_kept("full", file)
    assert kept[SAVE] == {
        "median": 4.0, "lowest": 4.0, "highest": 4.0, "rounds": 1, "better": "lower", "load_average": 0.7
    }  # fmt: skip
    assert kept[SHARE]["lowest"] == 0.88
    assert read_kept("small", file)[SAVE]["median"] == 3.0
    assert read_kept("full", tmp_path / "none.json") == {}


@pytest.mark.parametrize(
    ("save", "share", "named"),
    [
        ([3.2], [0.85], "none"),
        ([2.0], [0.99], "none"),
        ([3.6, 3.5, 3.7], [0.9], f"{SAVE} (20%)"),
        ([3.6, 3.0, 3.7], [0.9], f"{SAVE} (20%, within the spread of the rounds)"),
        ([3.0], [0.75], f"{SHARE} (20%)"),
    ],
)
def test_what_got_worse_by_more_than_a_tenth_is_named(save, share, named):
    lines = compare(describe_ratios(make_rows(save, share)), KEPT)
    assert lines[-1] == f"Worse by more than a tenth: {named}."
    assert len(lines) == 3


def test_a_first_run_compares_with_nothing():
    assert compare(KEPT, {})[0].endswith("not measured before")


@pytest.mark.parametrize("served", [APPLICATION, PRODUCT, FLOOR])
def test_what_is_served_says_who_asks(served):
    """The web server does not start without ``find_person``, and no other test starts the floor of the measurements."""
    spec = importlib.util.find_spec(served.partition(":")[0])
    assert spec is not None
    assert spec.origin is not None
    names = set()
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name for each in node.names}
    assert "find_person" in names
