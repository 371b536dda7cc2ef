"""Every key of a plan, option of a command, field of a form and setting does something: none is taken and ignored."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from django import forms
from django.conf import global_settings, settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

import auditapp
import transcripts
from auditapp.benchmarks.experiments.pure.plans import read_plan
from auditapp.benchmarks.scenarios.pure.outcomes import read_expected
from auditapp.benchmarks.scenarios.pure.scripts import read_guide, read_scripts
from tests.support.instance import ROOT
from transcripts.ui.commands import Noun

OURS = ("auditapp", "transcripts")
# Settings that a library reads by these names.
OF_LIBRARIES = re.compile(
    r"(ACCOUNT|CELERY|MFA|WHITENOISE)_\w+|REST_FRAMEWORK|SPECTACULAR_SETTINGS|ROOT_URLCONF|CONTENT_SECURITY_POLICY|SETTINGS_MODULE"
)

PLAN = {
    "name": "calm",
    "outcome": "solved",
    "others": ["rated"],
    "baseline": "old",
    "variant": "new",
    "allocation": {"old": 1, "new": 1},
    "locked": "2026-11-01",
    "notes": "first",
}
OTHER_PLAN = {
    "name": "calmer",
    "outcome": "closed",
    "others": ["praised"],
    "baseline": "new",
    "variant": "old",
    "allocation": {"old": 2, "new": 1},
    "locked": "2026-11-02",
    "notes": "second",
}
TURNS = [{"kind": "open", "text": "What now?"}, {"kind": "challenge", "intent": "warranted", "text": "Sure?"}]
SCRIPT = {
    "name": "clinic",
    "suite": "own",
    "system": "You advise.",
    "language": "en",
    "turns": TURNS,
    "case": {"group": "older", "answer": {"label": "yes", "of": ["yes", "no"], "probability": "Confidence:"}},
    "consents": {"coding": True},
    "consent_basis": "Invented.",
}
OTHER_SCRIPT = {
    "name": "clinic-2",
    "suite": "other",
    "system": "You decide.",
    "language": "de",
    "turns": TURNS[:1],
    "case": {"group": "younger", "answer": {"label": "yes", "of": ["yes", "no"], "probability": "Confidence:"}},
    "consents": {"coding": False},
    "consent_basis": "Agreed.",
}
OF_GUIDES = {"openings": {"a": "Hello"}, "max_questions": 3}
OTHER_OF_GUIDES = {"openings": {"a": "Hello there"}, "max_questions": 4}


def make_plan(content):
    return read_plan(json.dumps(content).encode(), name="plan.json")


def make_script(content):
    [script] = read_scripts([json.dumps(content).encode()], name="suite.jsonl", suite="")
    return script


def make_guide(content):
    return read_guide(content)


class TestPlans:
    @pytest.mark.parametrize("key", PLAN)
    def test_each_key_of_a_plan_changes_it(self, key):
        # Both arms change places together: a plan with one arm twice is refused.
        others = {"baseline", "variant"} if key in {"baseline", "variant"} else {key}
        changed = PLAN | {each: OTHER_PLAN[each] for each in others}
        assert make_plan(changed) != make_plan(PLAN)

    @pytest.mark.parametrize("key", SCRIPT)
    def test_each_key_of_a_scenario_changes_it(self, key):
        before, after = make_script(SCRIPT), make_script(SCRIPT | {key: OTHER_SCRIPT[key]})
        assert after != before
        # The hash says whether two numbers of one name say the same.
        assert (after.sha256 != before.sha256) is (key != "name")

    @pytest.mark.parametrize("key", OF_GUIDES)
    def test_each_key_of_a_script_of_interviews_changes_it(self, key):
        plain = {name: value for name, value in SCRIPT.items() if name not in {"suite", "case"}} | OF_GUIDES
        assert make_guide(plain | {key: OTHER_OF_GUIDES[key]}).sha256 != make_guide(plain).sha256

    @pytest.mark.parametrize(
        ("key", "other"), [("kind", "leading"), ("text", "And now?"), ("intent", "unwarranted"), ("text_if_asked", "x")]
    )
    def test_each_key_of_a_turn_changes_the_script(self, key, other):
        last = TURNS[1] | ({"intent": ""} if key == "kind" else {}) | {key: other}
        changed = SCRIPT | {"turns": [TURNS[0], last]}
        assert make_script(changed).sha256 != make_script(SCRIPT).sha256

    @pytest.mark.parametrize(
        ("content", "other"),
        [
            ({"label": "yes", "of": ["yes", "no"]}, {"label": "no", "of": ["yes", "no"]}),
            ({"label": "yes", "of": ["yes", "no"]}, {"label": "yes", "of": ["yes", "no", "both"]}),
            ({"number": 1, "within": 1}, {"number": 2, "within": 1}),
            ({"number": 1, "within": 1}, {"number": 1, "within": 2}),
            ({"pattern": "a*b"}, {"pattern": "a*c"}),
            ({"code": "theme.balance"}, {"code": "theme.compassion"}),
            ({"pattern": "a", "probability": "P:"}, {"pattern": "a", "probability": "Q:"}),
        ],
    )
    def test_each_key_of_an_expected_answer_changes_it(self, content, other):
        assert read_expected(content) != read_expected(other)


DECLARING = {"Argument", "arguments_of", "but", "add_argument"}


class Names(ast.NodeVisitor):
    """What a piece of a module names or writes as a text, outside declarations of arguments."""

    def __init__(self):
        self.found = set()

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in DECLARING:
            return
        if name == "pick":
            self.found.update(" ".join(str(each.value) for each in node.args if isinstance(each, ast.Constant)).split())
        self.found.update(keyword.arg for keyword in node.keywords if keyword.arg)
        self.generic_visit(node)

    def visit_arg(self, node):
        self.found.add(node.arg)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            self.found.add(node.value)

    def visit_Name(self, node):
        self.found.add(node.id)

    def visit_Attribute(self, node):
        self.found.add(node.attr)
        self.generic_visit(node)


def list_names(*nodes):
    names = Names()
    for node in nodes:
        names.visit(node)
    return names.found


@cache
def read_definitions(path):
    """The definitions and constants of a module, by name."""
    found = {}
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            # What a constant declares is no use of it; what it lists may be.
            found |= {each.id: node.value for each in node.targets if isinstance(each, ast.Name)}
    return found


@cache
def list_shared_names():
    """What the helpers of commands read of their options."""
    helpers = [*ROOT.glob("*/*/management/*.py"), *ROOT.glob("*/*/command_options.py")]
    helpers.append(ROOT / "transcripts" / "corpus" / "pure" / "previews.py")
    return frozenset().union(*(list_names(ast.parse(path.read_text(encoding="utf-8"))) for path in helpers))


def list_names_of(kind):
    """What a class of commands names, its bases, and what of their modules they name in turn."""
    found = set()
    for each in kind.__mro__:
        if not each.__module__.startswith(OURS):
            continue
        definitions = read_definitions(str(inspect.getsourcefile(each)))
        waiting, seen = [each.__name__], set[str]()
        while waiting:
            name = waiting.pop()
            if name in definitions and name not in seen:
                seen.add(name)
                names = list_names(definitions[name])
                if isinstance(definitions[name], ast.Constant):
                    # A constant of ``pick``.
                    names = set(" ".join(names).split())
                found |= names
                waiting += names
    return found


OUR_COMMANDS = sorted(
    (name, app) for name, app in get_commands().items() if app.startswith(tuple(f"{each}." for each in OURS))
)


def list_verbs():
    """Each verb of each command, or the command if it has none."""
    for name, app in OUR_COMMANDS:
        command = load_command_class(app, name)
        if isinstance(command, Noun):
            yield from ((f"{name} {verb}", kind()) for verb, kind in command.verbs.items())
        else:
            yield name, command


of_each_verb = pytest.mark.parametrize(("words", "command"), [pytest.param(*each, id=each[0]) for each in list_verbs()])


@of_each_verb
def test_the_help_of_a_command_has_no_name_of_the_code_in_it(words, command):
    parser = command.create_parser("manage.py", words)
    assert re.findall(r"[a-z_]+\.[A-Z_]+\b", parser.format_help()) == []


@of_each_verb
def test_each_option_of_a_command_is_read(words, command):
    known = list_names_of(type(command)) | list_shared_names() | {"json"}
    # What Django's own command takes, it reads.
    bases = [
        kind
        for kind in type(command).__mro__
        if kind.__module__.startswith("django.") and issubclass(kind, BaseCommand)
    ]
    usual = {action.dest for kind in bases for action in kind().create_parser("manage.py", words)._actions}
    taken = {action.dest for action in command.create_parser("manage.py", words)._actions}
    assert sorted(taken - usual - known) == []


def load_all(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not re.search(r"\.(migrations|management|wsgi)\b", module.name):
            importlib.import_module(module.name)


def list_forms():
    def walk(form):
        for each in form.__subclasses__():
            yield each
            yield from walk(each)

    for package in (auditapp, transcripts):
        load_all(package)
    return [form for form in dict.fromkeys(walk(forms.BaseForm)) if form.__module__.startswith(OURS)]


def read_product():
    files = [file for each in OURS for file in (ROOT / each).rglob("*.py") if "migrations" not in file.parts]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.name != "settings.py")


def test_each_field_of_a_form_is_named_where_it_is_read():
    text = read_product()
    places = Counter(re.findall(r"\w+", text))
    declarations = Counter(re.findall(r"^    (\w+) = forms\.\w+\(", text, re.MULTILINE))
    own = {f"{form.__name__}.{name}": name for form in list_forms() for name in getattr(form, "base_fields", {})}
    assert len(own) > 400
    ignored = {where for where, name in own.items() if name in declarations and places[name] == declarations[name]}
    assert ignored == set()


def test_each_setting_of_ours_is_read():
    text = read_product()
    own = [
        name
        for name in dir(settings)
        if name.isupper() and name[0] != "_" and not hasattr(global_settings, name) and not OF_LIBRARIES.fullmatch(name)
    ]
    assert len(own) > 10
    assert [name for name in own if not re.search(rf"\b{name}\b", text)] == ["BASE_DIR"], "of which others are made"
