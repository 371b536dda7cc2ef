"""Which tests `make test` runs on PostgreSQL too; `make test-all` runs every test there that uses a database.

Django's own queries come out the same on both databases. What need not is SQL of our own, locks, constraints and what
two connections see of each other. So what is chosen is

- the test module named after a module of the product that speaks SQL of its own, or else all that import it; in place of
  these the one that ``REACHED_THROUGH`` names, which reaches such SQL by an action or a page,
- those listed in ``ALSO``,
- each test that names a database error, commits for itself, runs threads, starts processes or writes SQL, and all of a
  module that does so outside its tests.

Of a test with parameters, the first case runs. tests/test_postgres.py fails when SQL of our own is reached by no chosen module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN_SQL = re.compile(r"connection\.cursor\(|objects\.raw\(|RawSQL|connection\.vendor")
DATABASE_MATTERS = re.compile(
    r"IntegrityError|DatabaseError|OperationalError|transaction=True|connection\.cursor\("
    r"|threading\.|mark\.processes|quick_on\("
)
# Screens, the launcher and the rights of roles do not change with the database.
LEFT_OUT = ("tests/browser/", "tests/test_launcher.py", "tests/test_access_matrix.py")
# Every write of every room leaves a line there; tests of its own are chosen by the errors they name.
EVERYWHERE = "transcripts.audit_trail.trail"
REACHED_THROUGH = {
    "auditapp.batches.ledger.statements": "tests/auditapp/batches/test_ledger.py",
    "auditapp.operations.actions": "tests/auditapp/operations/test_backup.py",
    "transcripts.coding.actions.checks": "tests/transcripts/coding/test_actions.py",
    "transcripts.coding.next_sentence": "tests/transcripts/coding/test_next_sentence.py",
    "transcripts.jobs.actions": "tests/transcripts/jobs/test_jobs.py",
    "transcripts.studies.access": "tests/transcripts/studies/test_study_pages.py",
    "transcripts.analysis.search.queries": "tests/transcripts/analysis/search/test_search.py",
    "transcripts.analysis.search.counts": "tests/transcripts/analysis/search/test_tables.py",
    "transcripts.analysis.search.results": "tests/transcripts/analysis/search/test_search.py",
    "transcripts.rounds.queries": "tests/transcripts/corpus/test_listing.py",
}

# Exports read long tables row by row, with a cursor in the server; answers are read after numbers that commits put in order.
ALSO = ("tests/transcripts/exchange/test_exports.py", "tests/auditapp/batches/test_answer_files.py")


@cache
def find_own_sql() -> set[str]:
    """The modules of the product that speak SQL of their own, migrations and commands apart."""
    files = (file for room in ("transcripts", "auditapp") for file in (ROOT / room).rglob("*.py"))
    return {
        name_module(file)
        for file in files
        if not {"migrations", "management"} & set(file.parts) and OWN_SQL.search(file.read_text(encoding="utf-8"))
    }


@cache
def choose_tests() -> list[str]:
    """The tests to run on PostgreSQL, as pytest's arguments: modules from the root of the checkout, and tests of others."""
    listed = {*REACHED_THROUGH.values(), *ALSO}
    chosen = []
    for path, source in read_test_modules().items():
        if path in listed or path in find_modules_of_own_sql():
            chosen.append(path)
        elif DATABASE_MATTERS.search(source):
            tests = find_tests_that_matter(source)
            chosen += [path] if tests is None else [f"{path}::{name}" for name in tests]
    return chosen


@cache
def read_test_modules() -> dict[str, str]:
    """Every test module that may be chosen, with its source."""
    files = {file.relative_to(ROOT).as_posix(): file for file in sorted((ROOT / "tests").rglob("test_*.py"))}
    return {path: file.read_text(encoding="utf-8") for path, file in files.items() if not path.startswith(LEFT_OUT)}


@cache
def find_modules_of_own_sql() -> dict[str, set[str]]:
    """The test modules that are chosen for the modules with SQL of our own that they import."""
    importing: dict[str, list[str]] = {name: [] for name in find_own_sql() - {EVERYWHERE, *REACHED_THROUGH}}
    for path, source in read_test_modules().items():
        for name in importing.keys() & set(find_imports(source)):
            importing[name].append(path)
    found: dict[str, set[str]] = {}
    for name, paths in importing.items():
        own = [path for path in paths if path.endswith(f"/test_{name.rpartition('.')[2]}.py")]
        for path in own or paths:
            found.setdefault(path, set()).add(name)
    return found


def find_tests_that_matter(source: str) -> list[str] | None:
    """The tests of a module in which the database matters, as ``name`` or ``Class::name``; None where it matters to all."""
    lines = dict(enumerate(source.splitlines(), start=1))
    body = ast.parse(source).body
    helpers = {name: list_lines(node) for node in body if (name := name_helper(node))}
    matter = {number for number, line in lines.items() if DATABASE_MATTERS.search(line) and " import " not in line}
    # A helper in which it matters carries that to those that name it: what stands in it is settled with them.
    carried: set[str] = set()
    while found := {name for name, own in helpers.items() if matter & own} - carried:
        carried |= found
        named = re.compile(rf"\b(?:{'|'.join(found)})\b")
        matter |= {number for number, line in lines.items() if named.search(line)}
    matter -= set().union(*(helpers[name] for name in carried))
    chosen: list[str] = []
    places: list[tuple[ast.stmt, str]] = [(node, "") for node in body]
    while places:
        node, prefix = places.pop(0)
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            places += [(each, f"{prefix}{node.name}::") for each in node.body]
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            own = matter & list_lines(node)
            if own:
                chosen.append(prefix + node.name)
            matter -= own
    return None if matter else chosen


def name_helper(node: ast.stmt) -> str:
    """The name under which tests of the module use what it defines here; empty for what they need not name."""
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
        return "" if any("autouse" in ast.unparse(each) for each in node.decorator_list) else node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return "" if node.targets[0].id == "pytestmark" else node.targets[0].id
    return ""


def list_lines(node: ast.stmt) -> set[int]:
    """The numbers of its lines, its decorators among them."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    begin = min([node.lineno, *(each.lineno for each in decorators)])
    return set(range(begin, (node.end_lineno or begin) + 1))


def name_module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def find_imports(source: str) -> Iterator[str]:
    """The modules that a module imports, and each name it imports from one, which may be a module too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
