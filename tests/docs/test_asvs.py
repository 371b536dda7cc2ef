"""The table of OWASP ASVS 5.0.0, levels 1 and 2: a row for every requirement, and a live test, or a reason, for every row."""

import ast
import csv
from collections import Counter
from functools import cache

import pytest

from tools.environment import ROOT

# The levels of the requirements, by section. Altogether 70 of level 1, 183 of level 2 and 92 of level 3.
LEVELS = """
V1.1 22
V1.2 1111122223
V1.3 112222222223
V1.4 222
V1.5 123
V2.1 122
V2.2 112
V2.3 12223
V2.4 23
V3.1 3
V3.2 113
V3.3 12223
V3.4 11222233
V3.5 11122333
V3.6 3
V3.7 22333
V4.1 12233
V4.2 23333
V4.3 22
V4.4 1222
V5.1 2
V5.2 112333
V5.3 113
V5.4 222
V6.1 122
V6.2 111111112222
V6.3 11223333
V6.4 112233
V6.5 22222333
V6.6 2223
V6.7 33
V6.8 2222
V7.1 222
V7.2 1111
V7.3 22
V7.4 11222
V7.5 223
V7.6 22
V8.1 1233
V8.2 1123
V8.3 133
V8.4 23
V9.1 111
V9.2 1222
V10.1 22
V10.2 223
V10.3 22223
V10.4 1111122222233333
V10.5 22222
V10.6 22
V10.7 222
V11.1 2233
V11.2 22233
V11.3 11233
V11.4 1222
V11.5 23
V11.6 23
V11.7 33
V12.1 12233
V12.2 11
V12.3 22223
V13.1 2333
V13.2 222223
V13.3 2233
V13.4 1222233
V14.1 22
V14.2 12223333
V14.3 122
V15.1 12233
V15.2 12233
V15.3 1222222
V15.4 3333
V16.1 2
V16.2 22222
V16.3 2222
V16.4 222
V16.5 2223
V17.1 23
V17.2 22223333
V17.3 22
"""
# Of which nothing is used: one row for all of it.
LEFT_OUT = {"V4.3", "V4.4", "V10", "V17"}
COLUMNS = ["id", "level", "applies", "asks", "what we do", "tests"]
OPEN = "open: "


def list_requirements():
    """The level of each requirement of the standard, by its number."""
    found = {}
    for line in LEVELS.split("\n"):
        section, _, levels = line.partition(" ")
        found |= {f"{section}.{number}": int(level) for number, level in enumerate(levels, start=1)}
    return found


def read_table():
    with (ROOT / "docs" / "security" / "asvs.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def list_tests(path):
    """The names of the tests of a module, without running it: ``test_x`` or ``TestY::test_x``."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}::{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return frozenset(name for name in names if name.rpartition("::")[2].startswith("test_"))


def is_a_test(named):
    """Whether ``tests/test_x.py::test_y`` exists."""
    path, _, name = named.partition("::")
    return (ROOT / path).is_file() and name in list_tests(path)


def list_open(table):
    return [row["id"] for row in table if row["tests"].startswith(OPEN)]


@pytest.fixture(scope="module")
def table():
    return read_table()


def test_the_levels_here_add_up_to_the_published_numbers():
    assert Counter(list_requirements().values()) == {1: 70, 2: 183, 3: 92}


def test_every_requirement_of_levels_1_and_2_has_one_row(table):
    ids = [row["id"] for row in table]
    assert list(table[0]) == COLUMNS
    assert len(ids) == len(set(ids))
    expected = {
        number
        for number, level in list_requirements().items()
        if level < 3 and not LEFT_OUT & {number.partition(".")[0], number.rpartition(".")[0]}
    }
    assert set(ids) == expected | LEFT_OUT
    assert [row["id"] for row in table if row["level"] != str(list_requirements().get(row["id"], ""))] == []


def test_every_row_says_what_is_asked_and_what_we_do(table):
    assert {row["applies"] for row in table} == {"yes", "no"}
    assert [row["id"] for row in table if not row["asks"] or not row["what we do"]] == []
    assert {row["id"] for row in table if row["applies"] == "no"} >= LEFT_OUT


def test_every_row_that_applies_has_a_live_test_or_says_why_it_is_open(table):
    for row in table:
        if row["applies"] == "no":
            assert row["tests"] == "", row["id"]
        elif row["tests"].startswith(OPEN):
            assert len(row["tests"]) > len(OPEN) + 10, row["id"]
        else:
            assert row["tests"], row["id"]
    named = {(row["id"], each) for row in table if not row["tests"].startswith(OPEN) for each in row["tests"].split()}
    assert sorted(f"{number}: {each}" for number, each in named if not is_a_test(each)) == []


def test_a_test_that_does_not_exist_is_noticed():
    assert is_a_test("tests/docs/test_asvs.py::test_a_test_that_does_not_exist_is_noticed")
    assert not is_a_test("tests/docs/test_asvs.py::test_that_was_renamed")
    assert not is_a_test("tests/docs/test_gone.py::test_x")
    assert not is_a_test("tests/docs/test_asvs.py::list_tests")
