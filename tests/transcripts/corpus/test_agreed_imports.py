"""Checks NC01 to NC03 of the design, by the reader and by the command ``turns``; the files are in ``tests/data/readers/agreed``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from transcripts.corpus.management.commands.interview import describe_file
from transcripts.formats.interviews import ReadError, read_bytes

ROOT = Path(__file__).resolve().parents[3]
AGREED = ROOT / "tests" / "data" / "readers" / "agreed"
CHECKS = {check["id"]: check["expected"] for check in json.loads((AGREED / "expected.json").read_text())}
FILES = sorted(path for path in AGREED.glob("NC*/*"))

each_file = pytest.mark.parametrize("file", FILES, ids=[f"{path.parent.name}-{path.name}" for path in FILES])


def find_expected(file):
    expected = CHECKS[file.parent.name]
    return expected.get("every file") or expected[file.name]


def contains(told, expected):
    """Whether the keys that are expected are there and lists are alike in length and order; more may be told."""
    if isinstance(expected, dict):
        return all(key in told and contains(told[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(told) == len(expected) and all(map(contains, told, expected))
    return type(told) is type(expected) and bool(told == expected)


def check_answer(answer, expected):
    assert contains(answer, {"threads": expected["threads"]})
    for words in expected.get("warnings_say", []):
        assert any(words in warning for warning in answer["warnings"])


def check_refusal(said, file, expected):
    assert said.startswith(f"{file.name}, line ")
    assert ": found " in said
    assert "; expected " in said
    assert "\n" not in said
    assert all(words in said for words in expected["says"])


def test_every_file_of_the_three_checks_is_there():
    assert [len(list(AGREED.glob(f"{check_id}/*"))) for check_id in ("NC01", "NC02", "NC03")] == [6, 4, 4]


@each_file
def test_the_reader_gives_what_was_agreed(file):
    expected = find_expected(file)
    if expected.get("exit"):
        with pytest.raises(ReadError) as refused:
            read_bytes(file.read_bytes(), name=file.name)
        check_refusal(str(refused.value), file, expected)
    else:
        check_answer(describe_file(read_bytes(file.read_bytes(), name=file.name)), expected)


@each_file
def test_the_command_gives_what_was_agreed(file, capsys):
    expected = find_expected(file)
    if expected.get("exit"):
        with pytest.raises(CommandError) as refused:
            call_command("interview", "read", str(file), "--json")
        check_refusal(str(refused.value), file, expected)
    else:
        call_command("interview", "read", str(file), "--json")
        check_answer(json.loads(capsys.readouterr().out), expected)


def test_a_refusal_is_one_line_on_standard_error_and_exit_status_1():
    ran = subprocess.run(
        [sys.executable, "manage.py", "interview", "read", str(AGREED / "NC03" / "gap.json"), "--json"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": "sqlite:////nowhere/none.sqlite3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    [line] = ran.stderr.splitlines()
    assert "gap.json" in line
