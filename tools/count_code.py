"""``python -m tools.count_code``: how much code there is, by package, and how much of it is ceremony.

What is counted, so that two dates can be compared: lines of product code are the lines of ``transcripts/`` and
``auditapp/`` that are neither blank nor a comment, without migrations. Docstrings count, for they are read.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("transcripts", "auditapp")
SHORT_MODULE_LINES = 40
LONG_MODULE_LINES = 700
LONG_FUNCTION_LINES = 60
BASE_TYPES = {"NamedTuple": "named tuples", "TypedDict": "typed dictionaries", "Protocol": "protocols"}
# Filters that belong in a QuerySet method or in the one module of a room that holds its SQL.
SCATTERED_FILTERS = {
    "filters on withdrawn rows": re.compile(r"withdrawn_at__isnull|withdrawn_at IS NULL"),
    "filters on retired sentences": re.compile(r"retired_by(_id)?__isnull|retired_by_id IS NULL|retired_by=None"),
}


def count_package(folder: Path) -> Counter[str]:
    """Count one package or one module, migrations left out."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        if "migrations" not in path.parts:
            counts += _count_module(path.read_text(encoding="utf-8"))
    return counts


def _count_module(text: str) -> Counter[str]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    counts = Counter({"lines": len(lines), "modules": 1})
    tree = ast.parse(text)
    definitions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    if len(lines) < SHORT_MODULE_LINES and len(definitions) == 1:
        counts["modules of one short definition"] += 1
    if len(lines) > LONG_MODULE_LINES:
        counts[f"modules over {LONG_MODULE_LINES} lines"] += 1
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            counts["functions"] += 1
            if (node.end_lineno or node.lineno) - node.lineno >= LONG_FUNCTION_LINES:
                counts[f"functions over {LONG_FUNCTION_LINES} lines"] += 1
        elif isinstance(node, ast.ClassDef):
            bases = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
            counts.update(name for base, name in BASE_TYPES.items() if base in bases)
            if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
                counts["dataclasses"] += 1
    for name, pattern in SCATTERED_FILTERS.items():
        counts[name] += len(pattern.findall(text))
    return counts


def count_tree(root: Path = ROOT) -> dict[str, Counter[str]]:
    """The counts of each room, and of both packages together under ``total``."""
    found: dict[str, Counter[str]] = {}
    for package in PACKAGES:
        for entry in sorted((root / package).iterdir()):
            if (entry.is_dir() and entry.name != "__pycache__") or entry.suffix == ".py":
                room = f"{package}.{entry.name}" if entry.is_dir() else package
                found[room] = found.get(room, Counter()) + count_package(entry)
    found["total"] = sum(found.values(), Counter())
    return found


def main() -> None:
    """Print lines, modules and named tuples of each room, then everything that is counted of the whole."""
    parser = argparse.ArgumentParser(prog="tools.count_code", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print every count of every room as one JSON object")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="another checkout, to compare with")
    options = parser.parse_args()
    counted = count_tree(options.root)
    if options.json:
        print(json.dumps(counted, indent=1, sort_keys=True))
        return
    columns = ("lines", "modules", "named tuples")
    print(f"{'room':28}" + "".join(f"{column:>14}" for column in columns))
    for room, counts in counted.items():
        print(f"{room:28}" + "".join(f"{counts[column]:>14,}" for column in columns))
    print()
    for name, number in sorted(counted["total"].items()):
        print(f"{number:>8,}  {name}")


if __name__ == "__main__":
    main()
