"""What is counted of the code: each measure with one sentence that says how, so that two dates can be compared.

A line counts if it is neither blank nor, in Python, only a comment. Docstrings count, for they are read. Product code is what is
under ``transcripts/`` and ``auditapp/`` without migrations; each folder in them is a room.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("transcripts", "auditapp")
SHORT_MODULE_LINES = 40
SMALL_MODULE_LINES = 100
LONG_MODULE_LINES = 700
LONG_FUNCTION_LINES = 60

OVERUSED = ("stands", "tells", "is told", "comes in", "beside", "behind", "holds", "so many", "anew")
PHRASES = re.compile(r"\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in OVERUSED) + r")\b", re.IGNORECASE)
SUPPRESSIONS = re.compile(r"#\s*(?:noqa|type:\s*ignore)\b")
# Filters that belong in a QuerySet method or in the one module of a room that contains its SQL.
SCATTERED_FILTERS = re.compile(
    r"withdrawn_at__isnull|withdrawn_at IS NULL|retired_by(?:_id)?__isnull|retired_by_id IS NULL|retired_by=None"
)
# Modules whose presence among the imports says that the classes of a module may declare fields of an API or a form.
OF_SERIALIZERS = ("rest_framework", "auditapp.api.fields")
OF_FORMS = ("django.forms",)
# What the inner class Meta of a ModelSerializer or a ModelForm may say again about a field of its model.
SAID_AGAIN = ("extra_kwargs", "labels", "help_texts", "error_messages", "widgets", "field_classes")
RECORD_BASES = {"NamedTuple", "TypedDict"}

# The measures that may not rise in any room without a reason, each with its definition.
LIMITED = {
    "lines": "lines of product code",
    "modules": "modules of product code",
    "serializer_fields": "names that are given a call in a class, in modules that import rest_framework or api.fields; entries of "
    "extra_kwargs",
    "form_fields": "names that are given a call in a class, in other modules that import django.forms; entries of labels, "
    "help_texts, widgets and the like",
    "command_arguments": "calls of add_argument and Argument in product code, and of but that say a help text of their own; "
    "fields that arguments_of names are described elsewhere and not counted",
    "export_columns": "calls of column or Column in product code, and in calls of columns the names with a meaning of their own",
    "records_built_once": "named tuples, typed dictionaries and dataclasses whose name is called at one place of product code, "
    "or at none",
    "registries": "functions of modules whose name begins with register_",
    "post_view_lines": "lines, decorators and blank ones included, of functions of modules with a decorator that names POST",
    "command_lines": "lines of modules under management/",
    "suppressions": "comments that silence a linter or the type checker, in all Python",
    "phrases": f"occurrences of {', '.join(OVERUSED)}, in product code, templates, README.md, CONTRIBUTING.md and docs/",
    "contract_lines": "lines of pyproject.toml from the first table of import-linter to its last, blank ones included",
    "template_lines": "lines of templates/",
    "script_lines": "lines of JavaScript in static/",
    "style_lines": "lines of CSS in static/",
    "perf_lines": "lines of Python in perf/",
}
# These are only counted. Tests, migrations and tools may grow; a module that lost lines becomes a small one; and whether a
# function is named once also depends on other rooms.
COUNTED = {
    "stored_fields": "names that are given a call of models.… in a class",
    "functions": "functions and methods of product code",
    "functions_named_once": "functions and methods whose name is used, imports apart, once in product code",
    "functions_never_named": "functions and methods whose name is used nowhere in product code, imports apart; views, methods that "
    "a framework calls and the like",
    "records": "named tuples, typed dictionaries and dataclasses",
    "protocols": "classes with the base Protocol",
    "small_modules": f"modules of {SMALL_MODULE_LINES} lines or fewer",
    "modules_of_one_short_definition": f"modules of fewer than {SHORT_MODULE_LINES} lines that define one function or class",
    "long_modules": f"modules of more than {LONG_MODULE_LINES} lines",
    "long_functions": f"functions of more than {LONG_FUNCTION_LINES} lines, blank ones included",
    "scattered_filters": "filters on withdrawn rows and retired sentences, which belong in QuerySets",
    "migrations": "files of migrations",
    "migration_lines": "lines of migrations",
    "test_lines": "lines of Python in tests/",
    "tool_lines": "lines of Python in tools/",
}
MEASURES = LIMITED | COUNTED
DECLARATIONS = ("serializer_fields", "form_fields", "command_arguments", "export_columns")

Figures = dict[str, Counter[str]]


class Module(NamedTuple):
    """A module of product code."""

    place: str
    room: str
    text: str
    body: list[ast.stmt]
    nodes: list[ast.AST]  # all of them


class Names(NamedTuple):
    """How often each name occurs in all product code, imports apart, and how often it is called."""

    used: Counter[str]
    called: Counter[str]


def count_tree(root: Path = ROOT) -> Figures:
    """The figures of each room of a checkout; a figure that is missing is 0."""
    figures: Figures = {}
    modules = read_product(root)
    names = count_names(modules)
    for module in modules:
        _room(figures, module.room).update(_count_module(module, names))
    for path, room in _find_files(root):
        _room(figures, room).update(_count_file(path.relative_to(root), path.read_text(encoding="utf-8")))
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    _room(figures, "project")["contract_lines"] = _count_contract_lines(project)
    return {room: +counts for room, counts in sorted(figures.items()) if +counts}


def add_up(figures: Mapping[str, Counter[str]]) -> Counter[str]:
    """The figures of all rooms together."""
    return sum(figures.values(), Counter())


def read_product(root: Path) -> list[Module]:
    """Every module of product code, in the order of its place."""
    found = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            place = path.relative_to(root)
            if "migrations" not in place.parts:
                text = path.read_text(encoding="utf-8")
                tree = ast.parse(text)
                found.append(Module(str(place), _find_room(place), text, tree.body, list(ast.walk(tree))))
    return found


def count_names(modules: Iterable[Module]) -> Names:
    names = Names(Counter(), Counter())
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.Name):
                names.used[node.id] += 1
            elif isinstance(node, ast.Attribute):
                names.used[node.attr] += 1
            elif isinstance(node, ast.Call):
                names.called[_get_name(node.func)] += 1
    return names


def list_records(module: Module) -> Iterator[ast.ClassDef]:
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and (
            RECORD_BASES & {_get_name(base) for base in node.bases}
            or any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        ):
            yield node


def list_functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def list_places(root: Path, measure: str) -> Iterator[str]:
    """Where the definitions are that are named or built once, or never: the measures whose figure does not show what is meant."""
    modules = read_product(root)
    names = count_names(modules)
    for module in modules:
        found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
        if measure == "records_built_once":
            found = [record for record in list_records(module) if names.called[record.name] <= 1]
        elif measure == "functions_named_once":
            found = [function for function in list_functions(module) if names.used[function.name] == 1]
        elif measure == "functions_never_named":
            found = [function for function in list_functions(module) if not names.used[function.name]]
        for node in found:
            yield f"{module.place}:{node.lineno} {node.name}"


def _count_module(module: Module, names: Names) -> Counter[str]:
    lines = _count_lines(module.text, comment="#")
    counts = Counter(
        {
            "lines": lines,
            "modules": 1,
            "small_modules": lines <= SMALL_MODULE_LINES,
            "long_modules": lines > LONG_MODULE_LINES,
            "command_lines": lines if "/management/" in module.place else 0,
            "scattered_filters": len(SCATTERED_FILTERS.findall(module.text)),
            "suppressions": len(SUPPRESSIONS.findall(module.text)),
            "phrases": len(PHRASES.findall(module.text)),
        }
    )
    definitions = [
        node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    counts["modules_of_one_short_definition"] = lines < SHORT_MODULE_LINES and len(definitions) == 1
    for function in list_functions(module):
        counts["functions"] += 1
        counts["functions_named_once"] += names.used[function.name] == 1
        counts["functions_never_named"] += not names.used[function.name]
        counts["long_functions"] += (function.end_lineno or function.lineno) - function.lineno >= LONG_FUNCTION_LINES
    for record in list_records(module):
        counts["records"] += 1
        counts["records_built_once"] += names.called[record.name] <= 1
    for node in module.nodes:
        if isinstance(node, ast.Call):
            name = _get_name(node.func)
            has_help = "help" in {given.arg for given in node.keywords}
            counts["command_arguments"] += name in {"add_argument", "Argument"} or (name == "but" and has_help)
            if name in {"column", "Column"}:
                counts["export_columns"] += 1
            elif name == "columns":
                counts["export_columns"] += sum(isinstance(given.value, ast.Tuple) for given in node.keywords)
        elif isinstance(node, ast.ClassDef):
            counts["protocols"] += "Protocol" in {_get_name(base) for base in node.bases}
    for definition in definitions:
        if isinstance(definition, ast.FunctionDef):
            counts["registries"] += definition.name.startswith("register_")
            if any("POST" in ast.unparse(decorator) for decorator in definition.decorator_list):
                first = min(decorator.lineno for decorator in definition.decorator_list)
                counts["post_view_lines"] += (definition.end_lineno or first) - first + 1
    counts.update(_count_fields(module))
    return counts


def _count_fields(module: Module) -> Counter[str]:
    """The fields that classes of this module declare: of models, forms and serializers."""
    counts: Counter[str] = Counter()
    imported = set(_list_imports(module))
    declares = ""
    if any(name.startswith(OF_SERIALIZERS) for name in imported):
        declares = "serializer_fields"
    elif any(name.startswith(OF_FORMS) for name in imported):
        declares = "form_fields"
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        for statement in node.body:
            if not isinstance(statement, ast.Assign | ast.AnnAssign):
                continue
            value = statement.value
            if isinstance(value, ast.Call):
                is_stored = ast.unparse(value.func).startswith("models.")
                counts["stored_fields" if is_stored else declares] += 1
            elif (
                isinstance(value, ast.Dict) and node.name == "Meta" and _get_name(_get_target(statement)) in SAID_AGAIN
            ):
                counts[declares] += len(value.keys)
    del counts[""]
    return counts


def _list_imports(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _find_files(root: Path) -> Iterator[tuple[Path, str]]:
    """The other files that are counted, each with its room: tests and templates by folder, the rest as one."""
    for package in PACKAGES:
        yield from ((path, _find_room(path.relative_to(root))) for path in root.glob(f"{package}/**/migrations/*.py"))
    for folder, pattern in (("tests", "*.py"), ("templates", "*.*")):
        yield from ((path, _find_room(path.relative_to(root))) for path in (root / folder).rglob(pattern))
    for folder, pattern in (
        ("static", "*.js"),
        ("static", "*.css"),
        ("perf", "*.py"),
        ("tools", "*.py"),
        ("docs", "*.md"),
    ):
        yield from ((path, folder) for path in (root / folder).rglob(pattern))
    yield from ((root / name, "docs") for name in ("README.md", "CONTRIBUTING.md"))


def _count_file(place: Path, text: str) -> Counter[str]:
    kind = place.suffix
    if kind == ".py":
        counts = Counter({"suppressions": len(SUPPRESSIONS.findall(text))})
        lines = _count_lines(text, comment="#")
        if "migrations" in place.parts[:-1] and place.parts[0] in PACKAGES:
            counts["migrations"] = place.name != "__init__.py"
            counts["migration_lines"] = lines
        else:
            counts[{"tests": "test_lines", "perf": "perf_lines", "tools": "tool_lines"}[place.parts[0]]] = lines
        return counts
    if kind in {".js", ".css"}:
        return Counter({"script_lines" if kind == ".js" else "style_lines": _count_lines(text)})
    counts = Counter({"phrases": len(PHRASES.findall(text))})
    if place.parts[0] == "templates":
        counts["template_lines"] = _count_lines(text)
    return counts


def _count_contract_lines(project: str) -> int:
    lines = project.rstrip().splitlines()
    tables = [place for place, line in enumerate(lines) if line.startswith("[")]
    contracts = [place for place in tables if lines[place].lstrip("[").startswith("tool.importlinter")]
    if not contracts:
        return 0
    end = next((place for place in tables if place > contracts[-1]), len(lines))
    return len("\n".join(lines[contracts[0] : end]).rstrip().splitlines())


def _count_lines(text: str, comment: str = "") -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not (comment and line.lstrip().startswith(comment)))


def _find_room(place: Path) -> str:
    """The first folder inside the top one; what is in the top folder itself is its own room."""
    return ".".join(place.parts[:2]) if len(place.parts) > 2 else place.parts[0]


def _room(figures: Figures, room: str) -> Counter[str]:
    return figures.setdefault(room, Counter())


def _get_target(statement: ast.Assign | ast.AnnAssign) -> ast.expr:
    return statement.targets[0] if isinstance(statement, ast.Assign) else statement.target


def _get_name(node: ast.expr) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))
