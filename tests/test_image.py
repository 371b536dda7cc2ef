"""What the image is built of: Docker itself is not needed to see that a file it copies would be missing."""

from __future__ import annotations

import re
from fnmatch import fnmatch

from tools.environment import ROOT


def read_let_through() -> list[str]:
    """The paths that ``.dockerignore`` lets into the image. It leaves out everything else."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert "*" in lines
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def test_every_file_that_the_image_copies_is_let_through() -> None:
    copied = re.findall(r"^COPY (?:--\S+ )*(\S+) ", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [path for path in copied if path != "." and path not in read_let_through()] == []


def test_neither_the_history_nor_data_nor_tests_come_into_the_image() -> None:
    for path in (".git", ".git/config", "var/auditapp.sqlite3", "tests/conftest.py", ".env", ".venv", "benchmarks"):
        assert not any(fnmatch(path, kept) or path.startswith(f"{kept}/") for kept in read_let_through()), path
