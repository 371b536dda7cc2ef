"""The static files that a site serves: under hashed names, compressed, and each page's script in one file.

``manage.py prepare`` collects them. Before that, and with DEBUG, the files are served unchanged, each module separately.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage

FOLDER = "js/"
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]*)";$', re.MULTILINE)
NAME_IMPORTED = re.compile(r"(?:^|,)\s*(\w+)")
EXPORT = re.compile(r"^export (?=(?:async )?function (\w+)|class (\w+)|const (\w+))", re.MULTILINE)
# Any other form of import or export is refused, because it would not work. A `let` could change after it was exported.
NOT_READ = re.compile(r"^(?:import|export|await)\b.*|\bimport\s*\(.*|\bimport\.meta\b.*", re.MULTILINE)


class Unbundled(Exception):
    """A script cannot be bundled into one file; the message says which script, and what to write instead."""


class CollectedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Bundles each script with the scripts that it imports. Parts in subfolders, such as js/desk/, then have no separate file."""

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        scripts = {}
        for name, (storage, path) in paths.items():
            if name.startswith(FOLDER) and name.endswith(".js"):
                with storage.open(path) as file:
                    scripts[name] = file.read().decode()
        files, bundles = InMemoryStorage(), dict[str, Any]()
        for name in list_entries(scripts):
            files.save(name, ContentFile(bundle(name, scripts).encode()))
            bundles[name] = (files, name)
        others = {name: place for name, place in paths.items() if name not in scripts}
        yield from super().post_process({**others, **bundles}, dry_run, **options)


def list_entries(scripts: Mapping[str, str]) -> list[str]:
    """The scripts that pages may name: all in the folder itself, even if others import them, and those that no script imports."""
    imported = {found for name, text in scripts.items() for found in find_imports(name, text)}
    return [name for name in scripts if posixpath.dirname(name) == FOLDER.rstrip("/") or name not in imported]


def bundle(entry: str, scripts: Mapping[str, str]) -> str:
    """The module ``entry`` with all its imports, each evaluated once, after the modules that it imports, as in a browser.

    Each module becomes a function that returns its exports, so that its names are not visible to other modules.
    """
    parts: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise Unbundled(
                f"{name} imports itself, by way of {' and '.join(importers)}. Move what both need elsewhere."
            )
        if name not in scripts:
            raise Unbundled(f"{importers[-1]} imports {name}, which does not exist.")
        if name not in parts:
            for each, wanted in _read_imports(name, scripts[name]):
                add(each, (*importers, name))
                if missing := wanted - set(_find_exports(scripts[each])):
                    raise Unbundled(f"{name} imports {', '.join(sorted(missing))}, which {each} does not export.")
            parts[name] = wrap(name, scripts[name])

    add(entry, ())
    return "\n".join(parts.values()) if len(parts) > 1 else scripts[entry]


def find_imports(name: str, text: str) -> list[str]:
    """The names, relative to the static folder, of the modules that this one imports."""
    return [each for each, _ in _read_imports(name, text)]


def _read_imports(name: str, text: str) -> list[tuple[str, set[str]]]:
    """The modules that this one imports, with the names that it takes from each."""
    return [(_resolve(name, each[2]), set(NAME_IMPORTED.findall(each[1]))) for each in IMPORT.finditer(text)]


def _find_exports(text: str) -> list[str]:
    return ["".join(filter(None, each.groups())) for each in EXPORT.finditer(text)]


def wrap(name: str, text: str) -> str:
    """A module as a function that is called at once."""
    exported = ", ".join(_find_exports(text))

    def take_over(found: re.Match[str]) -> str:
        names = re.sub(r"\s+as\s+", ": ", found[1])
        return f"const {{{names}}} = {_name_variable(_resolve(name, found[2]))};"

    body = EXPORT.sub("", IMPORT.sub(take_over, text))
    if left := NOT_READ.search(body):
        raise Unbundled(
            f'{name}: "{left[0]}" cannot be bundled. Write `import {{ … }} from "./….js";` and, in front of a '
            "function, class or const, `export`."
        )
    return f"// {name}\nconst {_name_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


def _resolve(name: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), address))


def _name_variable(name: str) -> str:
    return re.sub(r"\W", "_", name)
