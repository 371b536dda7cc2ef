"""Rules that the program's own source keeps, wherever it is changed."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from tools.environment import ROOT

# HTML that Python writes: each escapes every word it puts in (tests/transcripts/desk/test_page.py for the desk,
# tests/transcripts/charts for charts).
WRITES_HTML = {
    "auditapp/llm/failures.py",
    # The documents of this repository, whose Markdown admits no HTML.
    "auditapp/site/guides.py",
    "transcripts/desk/templatetags/desk_rows.py",
    "transcripts/corpus/templatetags/corpus.py",
    "transcripts/ui/templatetags/charts.py",
}
# The server's own fragment, parsed into a document in which nothing runs.
PARSES_HTML = {"static/js/desk/marks.js"}
# What starts another process: fixed programs with fixed arguments, without a shell.
STARTS_PROCESSES = {
    "auditapp/benchmarks/sob/pure/dataset_sources.py",
    "auditapp/benchmarks/sob/pure/dataset_files.py",
    "auditapp/operations/actions.py",
}
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
UNPACKS_OBJECTS = {"pickle", "marshal", "shelve", "dill", "joblib", "yaml"}


@dataclass
class Source:
    """What a module of the product calls and imports."""

    calls: list[ast.Call]
    imports: set[str]
    hashes: set[str]

    @property
    def called(self):
        return {name_of(call.func) for call in self.calls}


@cache
def read_sources():
    """Every module of the product by its path. Parsing them all takes seconds, so the tests of a process share it."""
    files = [path for package in ("transcripts", "auditapp") for path in sorted((ROOT / package).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): read_source(path.read_text(encoding="utf-8")) for path in files}


def read_source(text):
    source = Source([], set(), set())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            source.calls.append(node)
        elif isinstance(node, ast.Import):
            source.imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            source.imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and name_of(node.value) == "hashlib":
            source.hashes.add(node.attr)
    return source


def name_of(node):
    """``a.b.c`` for a name and its attributes, and nothing for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def test_no_text_is_run_as_code_and_no_objects_are_unpacked():
    sources = read_sources()
    assert [path for path, source in sources.items() if RUNS_TEXT & source.called] == []
    assert [
        path for path, source in sources.items() if UNPACKS_OBJECTS & {name.split(".")[0] for name in source.imports}
    ] == []


def test_other_programs_are_started_in_few_places_and_never_through_a_shell():
    sources = read_sources()
    assert {path for path, source in sources.items() if "subprocess" in source.imports} <= STARTS_PROCESSES
    shells = [
        path
        for path, source in sources.items()
        for call in source.calls
        if any(word.arg == "shell" for word in call.keywords)
        or name_of(call.func) in {"os.system", "os.popen", "asyncio.create_subprocess_shell"}
    ]
    assert shells == []


def test_text_is_marked_as_safe_html_nowhere_but_where_we_draw_it():
    marking = {
        path
        for path, source in read_sources().items()
        for call in source.calls
        if name_of(call.func) in {"mark_safe", "SafeString"}
        and not all(isinstance(each, ast.Constant) for each in call.args)
    }
    assert marking == WRITES_HTML
    templates = {path: path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")}
    assert len(templates) > 50
    unescaped = re.compile(r"\|\s*(safe|safeseq)\b|autoescape off")
    assert [str(path) for path, text in templates.items() if unescaped.search(text)] == []


def test_no_template_is_made_of_text_from_outside():
    making = {"Template", "engines.from_string", "from_string"}
    assert [path for path, source in read_sources().items() if making & source.called] == []


def read_scripts():
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in (ROOT / "static").rglob("*.js")}


def test_scripts_put_text_into_the_page_as_text_and_run_none():
    forbidden = re.compile(
        r"\.(?:inner|outer)HTML\b|\b(?:insertAdjacentHTML|createContextualFragment|setHTMLUnsafe|postMessage|__proto__"
        r"|importScripts|eval|document\.write(?:ln)?|new Function)\b"
    )
    scripts = read_scripts()
    assert len(scripts) > 20
    assert {name: forbidden.findall(text) for name, text in scripts.items() if forbidden.search(text)} == {}
    assert {name for name, text in scripts.items() if "DOMParser" in text} == PARSES_HTML


def test_htmx_runs_no_text_and_asks_no_other_host():
    page = (ROOT / "templates" / "base.html").read_text(encoding="utf-8")
    for setting in (
        '"allowEval": false',
        '"allowScriptTags": false',
        '"selfRequestsOnly": true',
        '"historyCacheSize": 0',
    ):
        assert setting in page


def test_no_script_style_or_font_comes_from_another_host():
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


def test_no_weak_hash_is_used_and_secrets_come_from_the_system():
    sources = read_sources()
    assert set().union(*(source.hashes for source in sources.values())) == {"sha256", "file_digest"}
    random = {"secrets.token_urlsafe", "secrets.token_bytes"}
    making = {path: source for path, source in sources.items() if random & source.called}
    assert {"transcripts/accounts/sealing.py", "auditapp/site/environment.py"} <= making.keys()
    assert [path for path, source in making.items() if "random" in source.imports] == []


def test_every_page_with_a_navigation_has_a_way_to_sign_out():
    folder = ROOT / "templates"
    assert 'include "ui/_nav.html"' in (folder / "base.html").read_text(encoding="utf-8")
    assert "{% url 'account_logout' %}" in (folder / "ui" / "_nav.html").read_text(encoding="utf-8")
    whole = {
        str(path.relative_to(folder)) for path in folder.rglob("*.html") if "<html" in path.read_text(encoding="utf-8")
    }
    assert whole == {"base.html"}


def test_statements_put_together_from_parts_are_looked_at_one_by_one():
    """Ruff's S608 finds them all over the program, and each that is left carries a mark and is made of constants."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in rules["select"]
    assert not [rule for rule in rules["ignore"] if rule.startswith("S6") or rule == "S"]
    freed = [pattern for pattern, off in rules["per-file-ignores"].items() if any(rule.startswith("S") for rule in off)]
    assert sorted(freed) == ["perf/**", "tests/**", "tools/**"]


# Patterns that are chosen out of several of the program's own.
CHOOSES_PATTERNS = {
    "auditapp/batches/ledger/batch_state.py",
    "auditapp/suggestions/queries.py",
    "transcripts/exchange/coding_rows.py",
    "transcripts/analysis/search/queries.py",
    "transcripts/analysis/search/results.py",
}


def is_constant(pattern):
    """A text in the source, or a name in capitals, which stands for one."""
    if isinstance(pattern, ast.Subscript):
        return is_constant(pattern.value)
    name = pattern.id if isinstance(pattern, ast.Name) else pattern.attr if isinstance(pattern, ast.Attribute) else ""
    return isinstance(pattern, ast.Constant) or name.isupper()


def test_no_text_from_outside_is_a_pattern_of_a_format():
    """A pattern of ``format`` can read into the values it is given, so patterns are constants of the program."""
    odd = {
        path
        for path, source in read_sources().items()
        for call in source.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in {"format", "format_map"}
        and not is_constant(call.func.value)
        # A formatter of the log that calls its own base class.
        and ast.unparse(call.func.value) != "super()"
    }
    assert odd <= CHOOSES_PATTERNS


def test_no_style_of_the_desk_has_a_browser_look_through_the_page_at_every_change():
    """A rule for what is inside html or body, where these contain something or an attribute of theirs changes with each act, is
    felt in every key of a long thread."""
    wide = re.compile(r"^ *(?:html|body|:root)\b[^{]*:has\(|^ *(?:html|:root)?\[data-saving", re.MULTILINE)
    for name in ("app", "desk", "keycard"):
        on_screen = (ROOT / f"static/css/{name}.css").read_text(encoding="utf-8").partition("@media print")[0]
        assert not wide.findall(on_screen), name


def test_no_description_of_a_constant_is_apart_from_it():
    """A text in the body of a module describes the constant on the line above; under anything else it describes nothing."""
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in read_sources() if "/migrations/" not in path}
    assert {path: lines for path, text in texts.items() if (lines := list(find_loose_texts(text)))} == {}
    loose = '"""A module."""\nA = 1\n\n"""Of A."""\n\n\ndef f() -> None: ...\n\n\n"""Of B."""\nB = 2\n"""Of B."""\n'
    assert list(find_loose_texts(loose)) == [4, 10]


def find_loose_texts(text):
    """The lines of texts that are neither the docstring of the module nor directly below a constant."""
    for before, node in pairwise(ast.parse(text).body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            is_below = isinstance(before, ast.Assign | ast.AnnAssign) and before.end_lineno == node.lineno - 1
            if not is_below:
                yield node.lineno


def test_no_constant_is_given_a_value_twice():
    twice = {}
    for path in read_sources():
        body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
        names = Counter(target.id for target in targets if isinstance(target, ast.Name))
        if often := [name for name, times in names.items() if times > 1]:
            twice[path] = often
    assert twice == {}


def test_no_module_imports_what_a_room_registers():
    """``load_registrations`` imports those modules, in the order of the rooms. Imported earlier, one would change that order."""
    files = [ROOT / path for path in read_sources()] + [*(ROOT / "tests").rglob("*.py")]
    found = {str(path.relative_to(ROOT)): find_registrations(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}
    assert find_registrations("from transcripts.rounds import registrations") == {"transcripts.rounds.registrations"}


def find_registrations(text):
    return {name for name in read_source(text).imports if name.split(".")[2:] and "registrations" in name.split(".")}
