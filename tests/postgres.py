"""Which tests `make test` runs on PostgreSQL too; `make test-all` runs every test there that uses a database.

Django's own queries come out the same on both databases. What need not is SQL of our own, locks, constraints and what
two connections see of each other. So a test module is chosen when it

- imports a module of the product that speaks SQL of its own,
- names a database error, a lock or a transaction,
- starts processes of the product,
- is listed in ``REACHED_THROUGH``: it reaches such SQL by a page, or
- is listed in ``ALSO``.

Of a test with parameters, the first case runs. tests/test_postgres.py fails when SQL of our own is reached by no chosen module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN_SQL = re.compile(r"connection\.cursor\(|objects\.raw\(|RawSQL|connection\.vendor")
DATABASE_MATTERS = re.compile(
    r"IntegrityError|DatabaseError|OperationalError|transaction=True|connection\.cursor\("
    r"|import threading|mark\.processes|quick_on\("
)
# Screens, the launcher and the rights of roles do not change with the database.
LEFT_OUT = ("tests/browser/", "tests/test_launcher.py", "tests/test_access_matrix.py")
# Every write of every room leaves a line there; tests of its own are chosen by the errors they name.
EVERYWHERE = "transcripts.audit_trail.trail"
REACHED_THROUGH = {
    "transcripts.coding.actions.storing": "tests/transcripts/coding/test_actions.py",
    "transcripts.coding.next_sentence": "tests/transcripts/coding/test_next_sentence.py",
    "transcripts.projects.access": "tests/transcripts/projects/test_project_pages.py",
    "transcripts.retrieval.catalog": "tests/transcripts/retrieval/test_search.py",
    "transcripts.retrieval.counts": "tests/transcripts/retrieval/test_tables.py",
    "transcripts.retrieval.queries": "tests/transcripts/retrieval/test_search.py",
    "transcripts.retrieval.results": "tests/transcripts/retrieval/test_search.py",
}

# Exports read long tables row by row, with a cursor in the server.
ALSO = ("tests/transcripts/exchange/test_exports.py",)


def find_own_sql() -> set[str]:
    """The modules of the product that speak SQL of their own, migrations and commands apart."""
    files = (file for room in ("transcripts", "auditapp") for file in (ROOT / room).rglob("*.py"))
    return {
        name_module(file)
        for file in files
        if not {"migrations", "management"} & set(file.parts) and OWN_SQL.search(file.read_text(encoding="utf-8"))
    }


def choose_files() -> list[str]:
    """The test modules to run on PostgreSQL, from the root of the checkout."""
    own_sql = find_own_sql() - {EVERYWHERE}
    listed = {*REACHED_THROUGH.values(), *ALSO}
    chosen = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        path = file.relative_to(ROOT).as_posix()
        if path.startswith(LEFT_OUT):
            continue
        source = file.read_text(encoding="utf-8")
        if path in listed or DATABASE_MATTERS.search(source) or not own_sql.isdisjoint(find_imports(source)):
            chosen.append(path)
    return chosen


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
