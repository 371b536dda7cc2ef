"""Code that tests hand to another process as text: no import is checked until that process runs, which may be in CI alone."""

import ast
import re
from importlib import import_module

import pytest

from tests.support.instance import ROOT

IMPORT = re.compile(r"^\s*from ((?:auditapp|transcripts|tests)(?:\.\w+)*) import \(?([\w, ]+)\)?$", re.MULTILINE)


def list_imports_in_strings(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in IMPORT.findall(node.value):
                for name in names.split(","):
                    yield module, name.split(" as ")[0].strip()


FOUND = sorted({each for path in (ROOT / "tests").rglob("*.py") for each in list_imports_in_strings(path)})


def test_imports_in_strings_are_found():
    assert len(FOUND) > 50


@pytest.mark.parametrize(("module", "name"), FOUND, ids=".".join)
def test_what_a_piece_of_code_in_a_string_imports_exists(module, name):
    found = import_module(module)
    assert hasattr(found, name) or import_module(f"{module}.{name}")
