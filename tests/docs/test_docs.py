"""What the documents promise is what the program has."""

import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.dispatch import Signal

from tools.export_table import build_table, replace_table
from transcripts import hooks
from transcripts.ui.commands import Noun

ROOT = Path(__file__).resolve().parents[2]
OURS = ("transcripts.", "auditapp.")
PARTS = ("transcripts", "auditapp", "tools", "perf", "tests")
# Modules of other programs.
OF_OTHERS = {"utils/scoring.py", "run_sob.py"}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_environment_variable_is_in_the_settings_page():
    sources = read("auditapp/settings.py") + read("auditapp/site/environment.py")
    used = set(re.findall(r'(?:env_\w+\(|environ\.get\(|_read_secret\()"([A-Z_]+)"', sources))
    assert {"AUDITAPP_DATA", "DATABASE_URL", "SECRET_KEY"} <= used
    page = read("docs/reference/settings.md")
    assert [name for name in sorted(used) if f"`{name}`" not in page] == []


def test_every_command_is_in_the_commands_page():
    ours = {name: list_verbs(name) for name, app in get_commands().items() if app.startswith(OURS)}
    words = [f"{name} {verb}" if verb else name for name, verbs in ours.items() for verb in verbs or [""]]
    page = read("docs/reference/commands.md")
    assert [each for each in sorted(words) if not re.search(rf"`{each}[ `]", page)] == []


def list_verbs(name):
    """The verbs of a command that has some."""
    command = load_command_class(get_commands()[name], name)
    return [*command.verbs] if isinstance(command, Noun) else []


def list_named_commands():
    """File, first and second word of each command that a document, a page or a sentence of the product names."""
    files = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docker-compose.yml", "Makefile")]
    files += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "templates").rglob("*.html")]
    files += [file for part in ("auditapp", "transcripts", "tools", "perf") for file in (ROOT / part).rglob("*.py")]
    before = r"(?:(?:\bmanage\.py|\$manage) |[Tt]he command (?:<code>|`))"
    named = re.compile(before + r"([a-z][a-z_-]*)\b(?! --help)(?:[ ]([a-z][a-z_-]*))?")
    return {
        (str(file.relative_to(ROOT)), *found)
        for file in files
        for found in named.findall(file.read_text(encoding="utf-8"))
    }


def test_every_command_that_is_named_exists():
    named = list_named_commands()
    assert len(named) > 60
    known = get_commands()
    assert [each for each in sorted(named) if each[1] not in known] == []
    verbs = {name: list_verbs(name) for _, name, _ in named}
    assert [each for each in sorted(named) if verbs[each[1]] and each[2] not in verbs[each[1]]] == []


def test_the_formats_page_has_the_table_of_exports_as_declared():
    """``python -m tools.export_table`` writes it."""
    page = read("docs/reference/formats.md")
    assert build_table() in page
    assert replace_table(page) == page


def test_no_model_of_the_human_half_points_at_the_machine_half():
    pointing = [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model.__module__.startswith("transcripts.")
        for field in model._meta.get_fields()
        if field.concrete and field.related_model and str(field.related_model.__module__).startswith("auditapp.")
    ]
    assert pointing == []


def test_no_tracked_file_names_a_package_host_in_the_lock():
    for name in ("requirements/base.txt", "requirements/dev.txt"):
        assert "://" not in read(name)


def test_templates_carry_no_inline_code_or_style():
    forbidden = re.compile(
        r"<style|<script(?![^>]*\bsrc=)(?![^>]*application/json)|\sstyle=|\son\w+=|javascript:|hx-on"
    )
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "templates").rglob("*.html")
        if forbidden.search(path.read_text())
    ]
    assert found == []


def test_every_hook_is_on_its_page_and_there_are_nine_at_most():
    declared = {
        (name, str(path.relative_to(ROOT)))
        for package in ("transcripts", "auditapp")
        for path in (ROOT / package).rglob("*.py")
        for name in re.findall(r"^def (register_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    listed = set(re.findall(r"^\| `(register_\w+)` \| `([^`]+)` \|", read("docs/reference/hooks.md"), re.MULTILINE))
    assert listed == declared
    assert len(declared) <= 9


def test_every_event_is_on_the_page_of_hooks_with_the_facts_that_its_sender_gives():
    listed = dict(
        re.findall(r"^\| `(\w+)` \|([^|]*)\|", read("docs/reference/hooks.md").partition("## Events")[2], re.MULTILINE)
    )
    assert set(listed) == {name for name, value in vars(hooks).items() if isinstance(value, Signal)}
    sources = [
        path.read_text(encoding="utf-8") for part in ("transcripts", "auditapp") for path in (ROOT / part).rglob("*.py")
    ]
    for event, facts in listed.items():
        [given] = {
            tuple(re.findall(r"(\w+)=", facts))
            for source in sources
            for facts in re.findall(rf"\bsend(?:_to_each)?\({event}\b([^\n]*)", source)
        }
        assert list(given) == re.findall(r"`(\w+)`", facts), event


def test_every_place_that_a_change_touches_exists():
    rows = read("docs/adding.md")
    places = re.findall(r"`((?:transcripts|auditapp|templates|static|tests|docs)/[^`]*)`", rows)
    assert len(places) > 10
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_module_that_a_comment_a_template_or_a_document_names_exists():
    ours = {f"/{path.relative_to(ROOT)}" for part in PARTS for path in (ROOT / part).rglob("*.py")} | {"/manage.py"}
    places = [
        f"{path.relative_to(ROOT)}: {name}"
        for part in (*PARTS, "docs", "templates", "static")
        for path in (ROOT / part).rglob("*")
        if path.suffix in {".py", ".md", ".html", ".js", ".css"} and part != "tests"
        for name in re.findall(r"[\w./-]*\w\.py\b", path.read_text(encoding="utf-8"))
        if name not in OF_OTHERS and not any(each.endswith(f"/{name.lstrip('./')}") for each in ours)
    ]
    assert places == []


def test_every_dotted_name_in_the_documents_of_the_code_is_there():
    """A name such as `studies.access` is a module of a room, or something defined in one: rooms that were renamed are found."""
    named = [
        name
        for page in ("docs/architecture.md", "docs/flows.md")
        for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", read(page))
        if not re.search(r"\.(py|js|md|css|html|toml)$", name)
    ]
    assert "coding.actions.add_coding" in named
    assert [
        name for name in named if not any(_is_defined(f"{half}.{name}") for half in ("transcripts", "auditapp"))
    ] == []


def _is_defined(name):
    parent, _, last = name.rpartition(".")
    with suppress(ModuleNotFoundError):
        return find_spec(name) is not None or hasattr(import_module(parent), last)
    with suppress(ModuleNotFoundError):
        return hasattr(import_module(parent), last)
    return False


def test_every_room_is_in_the_tree_of_the_architecture_page():
    page = read("docs/architecture.md")
    rooms = [app.name.rpartition(".")[2] for app in apps.get_app_configs() if app.name.startswith(OURS)]
    assert {"coding", "sob"} <= set(rooms)
    assert [room for room in rooms if not re.search(rf"^ +{room} ", page, re.MULTILINE)] == []


def test_links_between_documents_lead_somewhere():
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(
            r"\]\(([^)#:]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
        )
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_record_in_the_tree_of_the_architecture_page_is_a_model():
    tree = read("docs/architecture.md").partition("```")[2].partition("```")[0]
    models = {model.__name__ for model in apps.get_models()}
    others = {"Makefile", "Django", "Celery", "Tables", "Refused", "Viewer", "Numbered", "SQLite"}
    assert set(re.findall(r"\b[A-Z]\w*[a-z]\w*\b", tree)) - models - others == set()


def test_every_module_in_the_table_of_rooms_exists():
    table = read("docs/architecture.md").partition("Where rooms keep things")[2].partition("\n## ")[0]
    missing = []
    for row in re.findall(r"^\| (`.*)\|$", table, re.MULTILINE):
        rooms, modules = row.split(" | ", 1)
        homes = [ROOT, *(home for name in re.findall(r"`(\w+)`", rooms) for home in find_rooms(name))]
        for name in re.findall(r"`([^`]+)`", modules):
            pattern = name if name.endswith((".html", "/")) else f"{name}.py"
            if not any(
                list(home.glob(pattern.rstrip("/")))
                for home in [*homes, *(ROOT / half for half in ("transcripts", "auditapp"))]
            ):
                missing.append(name)
    assert missing == []


def find_rooms(name):
    return [
        path for parent in ("transcripts", "auditapp", "auditapp/benchmarks") if (path := ROOT / parent / name).is_dir()
    ]
