"""Rules that the program's own source keeps, wherever it is changed."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.environment import ROOT

# HTML that Python writes: each escapes every word it puts in (tests/transcripts/coding/test_page.py for the desk,
# tests/transcripts/charts for charts).
WRITES_HTML = {
    "auditapp/llm/failures.py",
    "auditapp/sob/report/views/statistics.py",
    "transcripts/coding/templatetags/desk_rows.py",
    "transcripts/ui/templatetags/charts.py",
}
# The server's own fragment, parsed into a document in which nothing runs.
PARSES_HTML = {"static/js/desk/marks.js"}
# What starts another process: fixed programs with fixed arguments, without a shell.
STARTS_PROCESSES = {
    "auditapp/sob/pure/loading/apart.py",
    "auditapp/sob/pure/loading/parquet.py",
    "auditapp/operations/copies.py",
}
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
UNPACKS_OBJECTS = {"pickle", "marshal", "shelve", "dill", "joblib", "yaml"}


def read_sources() -> Iterator[tuple[str, ast.AST]]:
    for package in ("transcripts", "auditapp"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sources() -> list[tuple[str, ast.AST]]:
    return list(read_sources())


def list_calls(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def list_imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_text_is_run_as_code_and_no_objects_are_unpacked(sources: list[tuple[str, ast.AST]]) -> None:
    assert [path for path, tree in sources if RUNS_TEXT & list_calls(tree)] == []
    assert [
        path for path, tree in sources if UNPACKS_OBJECTS & {name.split(".")[0] for name in list_imports(tree)}
    ] == []


def test_other_programs_are_started_in_few_places_and_never_through_a_shell(sources: list[tuple[str, ast.AST]]) -> None:
    starting = {path for path, tree in sources if "subprocess" in list_imports(tree)}
    assert starting <= STARTS_PROCESSES
    shells = [
        path
        for path, tree in sources
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            any(word.arg == "shell" for word in node.keywords)
            or ast.unparse(node.func) in {"os.system", "os.popen", "asyncio.create_subprocess_shell"}
        )
    ]
    assert shells == []


def test_text_is_marked_as_safe_html_nowhere_but_where_we_draw_it(sources: list[tuple[str, ast.AST]]) -> None:
    marking = {
        path
        for path, tree in sources
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"mark_safe", "SafeString"}
        and not all(isinstance(each, ast.Constant) for each in node.args)
    }
    assert marking == WRITES_HTML
    templates = {path: path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")}
    assert len(templates) > 50
    unescaped = re.compile(r"\|\s*(safe|safeseq)\b|autoescape off")
    assert [str(path) for path, text in templates.items() if unescaped.search(text)] == []


def test_no_template_is_made_of_text_from_outside(sources: list[tuple[str, ast.AST]]) -> None:
    assert [
        path for path, tree in sources if {"Template", "engines.from_string", "from_string"} & list_calls(tree)
    ] == []


def read_scripts() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (ROOT / "static").rglob("*.js")}


def test_scripts_put_text_into_the_page_as_text_and_run_none() -> None:
    forbidden = re.compile(
        r"\.(?:inner|outer)HTML\b|\b(?:insertAdjacentHTML|createContextualFragment|setHTMLUnsafe|postMessage|__proto__"
        r"|importScripts|eval|document\.write(?:ln)?|new Function)\b"
    )
    scripts = read_scripts()
    assert len(scripts) > 20
    assert {name: forbidden.findall(text) for name, text in scripts.items() if forbidden.search(text)} == {}
    assert {name for name, text in scripts.items() if "DOMParser" in text} == PARSES_HTML


def test_htmx_runs_no_text_and_asks_no_other_host() -> None:
    page = (ROOT / "templates" / "base.html").read_text(encoding="utf-8")
    for setting in (
        '"allowEval": false',
        '"allowScriptTags": false',
        '"selfRequestsOnly": true',
        '"historyCacheSize": 0',
    ):
        assert setting in page


def test_no_script_style_or_font_comes_from_another_host() -> None:
    files = [
        path
        for folder in ("templates", "static")
        for path in Path(ROOT / folder).rglob("*")
        if path.suffix in {".html", ".css", ".js"}
    ]
    foreign = re.compile(r"""(?:src=|href=|url\(|import[ ]+|from[ ]+|fetch\()["']?(?:https?:)?//""")
    linked = {str(path.relative_to(ROOT)) for path in files if foreign.search(path.read_text(encoding="utf-8"))}
    assert {path for path in linked if not path.startswith("templates/")} == set()
    loading = re.compile(r"""<(?:script|link|img|iframe|object|embed)\b[^>]*(?:https?:)?//""")
    assert [str(path) for path in files if loading.search(path.read_text(encoding="utf-8"))] == []


def test_no_weak_hash_is_used_and_secrets_come_from_the_system(sources: list[tuple[str, ast.AST]]) -> None:
    hashes = {
        node.attr
        for _, tree in sources
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hashlib"
    }
    assert hashes == {"sha256", "file_digest"}
    making = {path for path, tree in sources if {"secrets.token_urlsafe", "secrets.token_bytes"} & list_calls(tree)}
    assert {"transcripts/accounts/hashing.py", "auditapp/environment.py"} <= making
    assert [path for path in making if "random" in list_imports(dict(sources)[path])] == []


def test_every_page_with_a_navigation_has_a_way_to_sign_out() -> None:
    folder = ROOT / "templates"
    assert 'include "ui/_nav.html"' in (folder / "base.html").read_text(encoding="utf-8")
    assert "{% url 'account_logout' %}" in (folder / "ui" / "_nav.html").read_text(encoding="utf-8")
    whole = {
        str(path.relative_to(folder)) for path in folder.rglob("*.html") if "<html" in path.read_text(encoding="utf-8")
    }
    assert whole == {"base.html"}


def test_statements_put_together_from_parts_are_looked_at_one_by_one() -> None:
    """Ruff's S608 finds them all over the program, and each that is left carries a mark and is made of constants."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in rules["select"]
    assert not [rule for rule in rules["ignore"] if rule.startswith("S6") or rule == "S"]
    freed = [pattern for pattern, off in rules["per-file-ignores"].items() if any(rule.startswith("S") for rule in off)]
    assert sorted(freed) == ["benchmarks/**", "tests/**", "tools/**"]


# Patterns that are chosen out of several of the program's own.
CHOOSES_PATTERNS = {
    "auditapp/batches/ledger/batch_state.py",
    "auditapp/preannotation/suggestions/queries/panel.py",
    "transcripts/exchange/coding_rows.py",
    "transcripts/retrieval/queries.py",
    "transcripts/retrieval/results.py",
}


def is_constant(pattern: ast.expr) -> bool:
    """A text in the source, or a name in capitals, which stands for one."""
    if isinstance(pattern, ast.Subscript):
        return is_constant(pattern.value)
    name = pattern.id if isinstance(pattern, ast.Name) else pattern.attr if isinstance(pattern, ast.Attribute) else ""
    return isinstance(pattern, ast.Constant) or name.isupper()


def test_no_text_from_outside_is_a_pattern_of_a_format(sources: list[tuple[str, ast.AST]]) -> None:
    """A pattern of ``format`` can read into the values it is given, so patterns are constants of the program."""
    odd = {
        path
        for path, tree in sources
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"format", "format_map"}
        and not is_constant(node.func.value)
    }
    assert odd <= CHOOSES_PATTERNS
