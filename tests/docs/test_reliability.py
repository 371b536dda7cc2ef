"""The page of the thirty checks: whatever it names exists, and what is open stands there."""

import re

import pytest
from django.core.management import get_commands

from tests.docs.test_asvs import OPEN, is_a_test, list_open, read_table
from tools.environment import ROOT

STATES = {"kept", "in part", "not kept", "not measured"}


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(page):
    """The cells of each check: number, what it asks, what was found, by what, its state."""
    lines = re.findall(r"^\| (\d+ \|.*?) *\|$", page, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def test_there_are_thirty_checks_each_with_its_state(rows):
    assert sorted(int(row[0]) for row in rows) == list(range(1, 31))
    assert {len(row) for row in rows} == {5}
    assert {row[4] for row in rows} <= STATES


def test_a_check_that_is_kept_names_what_shows_it(rows):
    assert [row[0] for row in rows if row[4] in {"kept", "in part"} and "`" not in row[3]] == []


def test_every_test_and_command_that_is_named_exists(page):
    named = re.findall(r"`([^`]+)`", page)
    tests = [name for name in named if name.startswith("tests/")]
    assert len(tests) > 40
    assert [name for name in tests if not (is_a_test(name) if "::" in name else (ROOT / name).exists())] == []
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [name.split() for name in named if name.startswith(("make ", "python -m ", "manage.py "))]
    assert commands
    for words in commands:
        if words[0] == "make":
            assert words[1] in targets, words
        elif words[0] == "manage.py":
            assert words[1] in get_commands(), words
        else:
            module = ROOT / words[2].replace(".", "/")
            assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), words


def test_every_measure_of_speed_that_is_named_exists(page):
    measures = set(re.findall(r"`python -m perf (\w+)", page))
    main = (ROOT / "perf" / "__main__.py").read_text(encoding="utf-8")
    assert measures
    assert [name for name in measures if f'"{name}"' not in main] == []


def test_the_open_rows_of_asvs_stand_on_the_page_with_their_number(page):
    table = read_table()
    part = page.partition("## Open rows of ASVS\n")[2]
    listed = dict(re.findall(r"^\| (V[\d.]+) \| (.*?) \|$", part, re.MULTILINE))
    assert listed == {row["id"]: row["tests"].removeprefix(OPEN) for row in table if row["id"] in list_open(table)}
    applies = sum(row["applies"] == "yes" for row in table)
    assert f"{len(listed)} of the {applies} rows that apply are open" in part
