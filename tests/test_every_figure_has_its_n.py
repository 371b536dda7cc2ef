"""No mean, rate or share leaves the product without the number of what it is of: in every table of columns (pages, CSV, LaTeX),
in every export, in every typed answer of the API, in the JSON of every report, and in every table on a page of the demo."""

import importlib
import json
import pkgutil
import re
from collections.abc import Mapping

import lxml.html
import pytest
from rest_framework import serializers

import auditapp
import transcripts
from auditapp.api.fields import RowOutput
from auditapp.benchmarks.gender_cues.pure.tables import Trial, make_table1
from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome, report_sessions
from auditapp.benchmarks.sob.pure.report import ReportOptions, build_report
from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.demo.actions import load_demo
from tests.approved.copies import COMMANDS, crawl, run
from tests.auditapp.benchmarks.sob.measures.answering import answer
from transcripts.exchange import rows
from transcripts.formats.report_tables import ReportTable

FIGURE = re.compile(
    r"(?:^|_)(?:rate|share|mean|median|average|pct|prevalence|retention|kappa|alpha|f1|precision|recall|sensitivity|specificity"
    r"|accuracy|raw|pabak|ac1|fleiss|jaccard|brier|ece|sob|difference|ratio|superiority|distance|entropy)(?:_|$)"
)
"""What names a mean or a share, or is made of some."""
NUMBER = re.compile(
    r"^n$|^n_|_n$|^(?:units|cases|pairs|sessions|threads|turns|texts|episodes|decided|denominator|labels|with_outcome)$"
    r"|^(?:fleiss|labelled)_"
)
"""What says of how many."""
NO_FIGURES = {
    # Words of an answer or a label as they came.
    "raw",
    "target_raw",
    # A setting.
    "share_percent",
}


def import_all():
    for package in (auditapp, transcripts):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"\.migrations\.|\.management\.|\.(?:celery|wsgi|settings)$", found.name):
                yield importlib.import_module(found.name)


def list_tables():
    """Every declared table of columns, by where it is declared."""
    for module in import_all():
        for name, value in vars(module).items():
            tables = value.items() if name == "TABLES" and isinstance(value, dict) else [("", value)]
            if isinstance(value, ReportTable):
                yield f"{module.__name__}.{name}", tuple(value.names)
            if not re.search(r"COLUMNS|HEADER|^TABLES$|CELL_FIELDS", name):
                continue
            for key, table in tables:
                columns = getattr(table, "columns", table[0] if key and isinstance(table, tuple) else table)
                if isinstance(columns, list | tuple):
                    names = [getattr(column, "name", column) for column in columns]
                    texts = tuple(each for each in names if isinstance(each, str))
                    if len(texts) == len(names):
                        yield f"{module.__name__}.{name}{f'[{key}]' if key else ''}", texts


def lacks_number(names):
    figures = [name for name in names if FIGURE.search(name) and name not in NO_FIGURES]
    return figures if figures and not any(NUMBER.search(name) for name in names) else []


def test_every_table_of_columns_with_a_figure_says_of_how_many():
    tables = dict(list_tables())
    assert len(tables) > 20, "they are not found any more"
    assert {
        "auditapp.benchmarks.scenarios.pure.measures.TABLES[gaps]",
        "transcripts.agreement.report.TABLE",
    } < tables.keys()
    assert {name: lacking for name, columns in tables.items() if (lacking := lacks_number(columns))} == {}


def test_every_export_with_a_figure_says_of_how_many():
    columns = {export.key: [column.name for column in export.columns] for export in rows.list_exports()}
    assert any(FIGURE.search(name) for names in columns.values() for name in names)
    assert {key: lacking for key, names in columns.items() if (lacking := lacks_number(names))} == {}


def test_every_typed_answer_of_the_api_with_a_figure_says_of_how_many():
    importlib.import_module("auditapp.api.urls")
    found = {}
    for kind in list_subclasses(serializers.Serializer):
        if kind.__module__.startswith("auditapp.") and kind.__module__ != RowOutput.__module__:
            # A part in words of its own is looked at by itself; what is an object has its numbers inside.
            names = [name for name, field in kind().fields.items() if is_number(field) or NUMBER.search(name)]
            found[f"{kind.__module__}.{kind.__qualname__}"] = names
    assert any(FIGURE.search(name) for names in found.values() for name in names)
    assert {name: lacking for name, names in found.items() if (lacking := lacks_number(names))} == {}


def list_subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from list_subclasses(each)


def is_number(field):
    return isinstance(field, serializers.FloatField | serializers.DecimalField)


def make_scenarios():
    return report_sessions(
        [
            SessionOutcome(f"{group}{n}", "m", condition, repeat, (n + repeat) % 3 > 0, group, 0.7, pair=f"case {n}")
            for group in ("a", "b")
            for n in range(12)
            for condition in ("prompted", "unprompted")
            for repeat in (1, 2)
        ]
    )


def make_benchmark():
    observations = [
        answer(
            (number + place) % 4,
            model=model,
            task=task,
            item=f"{target} {number}",
            target=target,
            secondary=("birds",) if number % 2 else (),
            repeat=repeat,
        )
        for place, target in enumerate(("cats", "dogs", "cows"))
        for number in range(4)
        for model in ("a", "b", "c")
        for task in ("acceptability", "non_acceptability")
        for repeat in (1, 2)
    ]
    return build_report(tally_observations(observations), options=ReportOptions(resamples=20, pairs=(("a", "b"),)))


def make_probe():
    return make_table1(
        [
            Trial(
                f"{number} {condition}", "m", condition, number, truth, "ok", ("man", "woman")[(number + place) % 2], []
            )
            for number in range(12)
            for place, condition in enumerate(("control", "primed"))
            for truth in [("woman", "man")[number % 2]]
        ]
    )


REPORTS = {"scenarios": make_scenarios, "benchmark": make_benchmark, "probe": make_probe}


def list_bare_figures(value, path="", known=False):
    """Numbers with the name of a figure that have no number of units beside them or around them."""
    if isinstance(value, Mapping):
        known = known or any(NUMBER.search(str(key)) for key in value)
        for key, each in value.items():
            place = f"{path}/{key}"
            if isinstance(each, float) and FIGURE.search(str(key)) and not known:
                yield place
            yield from list_bare_figures(each, place, known)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from list_bare_figures(each, f"{path}/*", known)


@pytest.mark.parametrize("name", REPORTS)
def test_every_figure_in_the_json_of_a_report_says_of_how_many(name):
    report = REPORTS[name]()
    assert not sorted(set(list_bare_figures(report)))


HEADED_FIGURE = re.compile(
    r"\b(?:rate|share|mean|median|average|kappa|alpha|precision|recall|specificity|accuracy|difference|ratio|f1)s?\b"
    r"|\b(?:positive|raw) agreement\b|\branks differ\b",
    re.IGNORECASE,
)
HEADED_NUMBER = re.compile(
    r"\b(?:n|of|answers|decided|usable|texts|known|tested|marked|available|neither|steps from there|questions"
    r"|entries both made|episodes|scored by two|sentences coded by two or more|items marked by both|drawn)\b"
    r"|^w$",
    re.IGNORECASE,
)
NUMBER_IN_WORDS = re.compile(r"\bn \d|\d+ of \d+|\d+ (?:models|families|turns?|texts|sentences)\b")
NO_SHARE_OF_UNITS = {
    # Of turns to be drawn: a setting.
    "suggestions.withholding",
    # The names of files.
    "sob.files",
}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_every_table_on_a_page_and_every_report_of_the_demo_says_of_how_many():
    load_demo()
    tables = [
        (name, table)
        for name, _, page in crawl("owner")
        if name not in NO_SHARE_OF_UNITS
        for table in lxml.html.document_fromstring(page).iterfind(".//main//table")
        if any(HEADED_FIGURE.search(read(head)) for head in table.iterfind(".//th"))
    ]
    assert len(tables) > 30, "they are not found any more"
    assert [(name, read(table)[:200]) for name, table in tables if not has_number(table)] == []
    reports = {" ".join(words): json.loads(run(*words, "--json")) for words in COMMANDS}
    assert {name: bare for name, report in reports.items() if (bare := sorted(set(list_bare_figures(report))))} == {}


def has_number(table):
    """Whether a table has a column of numbers of units, or its cells or the words before it say them."""
    if any(HEADED_NUMBER.search(read(head)) for head in table.iterfind(".//th")):
        return True
    section = next((each for each in table.iterancestors() if each.tag in {"section", "main"}), table)
    return bool(NUMBER_IN_WORDS.search(read(table)) or NUMBER_IN_WORDS.search(read(section)))


def read(element):
    return " ".join("".join(element.itertext()).split())
