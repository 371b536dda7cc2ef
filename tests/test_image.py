"""What the image is built of: Docker itself is not needed to see that a file it copies would be missing."""

import re
from fnmatch import fnmatch

from tools.environment import ROOT


def read_let_through():
    """The paths that ``.dockerignore`` lets into the image. It leaves out everything else."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert "*" in lines
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def test_every_file_that_the_image_copies_is_let_through():
    copied = re.findall(r"^COPY (?:--\S+ )*(\S+) ", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [path for path in copied if path != "." and path not in read_let_through()] == []


def test_neither_the_history_nor_data_nor_tests_come_into_the_image():
    for path in (".git", ".git/config", "var/auditapp.sqlite3", "tests/conftest.py", ".env", ".venv", "perf"):
        assert not any(fnmatch(path, kept) or path.startswith(f"{kept}/") for kept in read_let_through()), path


def test_the_code_is_compiled_in_the_image_before_the_user_changes():
    steps = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    [compiles] = [number for number, step in enumerate(steps) if step.startswith("RUN python -m compileall ")]
    assert steps.index("COPY . .") < compiles < steps.index("USER auditapp")
    holds_code = {path for path in read_let_through() if path.endswith(".py") or any((ROOT / path).rglob("*.py"))}
    assert holds_code == {word for word in steps[compiles].split()[4:] if not word.startswith("-")}


def test_templates_static_files_and_the_documents_of_help_come_into_the_image():
    assert {"templates", "static", "docs"} <= set(read_let_through())
