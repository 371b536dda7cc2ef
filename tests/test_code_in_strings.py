"""Code that tests hand to another process as text: no import is checked until that process runs, which may be in CI alone."""

import ast
import builtins
import re
import textwrap
from contextlib import suppress
from importlib import import_module

import pytest

from tests.support.instance import ROOT

IMPORT = re.compile(r"^\s*from ((?:auditapp|transcripts|tests)(?:\.\w+)*) import \(?([\w, ]+)\)?$", re.MULTILINE)

PROGRAM = re.compile(r"^\s*(import|from|def) ", re.MULTILINE)


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


def list_programs():
    """Texts of tests that are Python with an import of ours: with the names that they read, and that no such text of the module
    defines, for some are put together. A name in capitals is replaced before."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        # Some begin in a formatted text, which is no program by itself.
        found, bound = {}, set(dir(builtins))
        for words in re.findall(r"^ *(?:def|(?:from [\w.]+ )?import) ([\w, ]+)", source, re.MULTILINE):
            bound |= set(re.findall(r"\w+", words))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and PROGRAM.search(node.value):
                with suppress(SyntaxError):
                    program = ast.parse(textwrap.dedent(node.value))
                    bound |= set(list_bound(program))
                    if IMPORT.search(node.value):
                        found[f"{path.relative_to(ROOT)}:{node.lineno}"] = program
        for place, program in found.items():
            names = {node.id for node in ast.walk(program) if isinstance(node, ast.Name) and not node.id.isupper()}
            yield place, sorted(names - bound)


def list_bound(program):
    for node in ast.walk(program):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler):
            yield node.name or ""


def test_no_piece_of_code_in_a_string_reads_a_name_that_it_does_not_define():
    programs = dict(list_programs())
    assert len(programs) > 20
    assert {place: names for place, names in programs.items() if names} == {}
