"""What is counted of the code, and that a figure that rises fails the check until it is written down."""

import sys
from collections import Counter

import pytest

from tools import ratchet
from tools.count_code import print_measures
from tools.measures import MEASURES, add_up, count_tree, list_places

FILES = {
    "auditapp/pages.py": "# A comment alone does not count.\nLIMIT = 3  # noqa: E501\n",
    "auditapp/api/codings.py": '''\
        """Labels, which a client tells of."""
        from rest_framework import serializers

        class Output(serializers.ModelSerializer):
            name = serializers.CharField()
            codes = serializers.ListField(child=serializers.CharField())

            class Meta:
                fields = ("name", "codes")
                extra_kwargs = {"name": {"help_text": "Its name."}}
        ''',
    "transcripts/memos/models.py": """\
        from django.db import models

        class Memo(models.Model):
            text = models.TextField(max_length=10)
        """,
    "transcripts/memos/forms.py": """\
        from django import forms
        from typing import NamedTuple

        class MemoForm(forms.Form):
            text = forms.CharField()
            kind = make_field()

        class Found(NamedTuple):
            first: int

        class Asked(NamedTuple):
            words: str

        def find(form):
            print(Found(1), Asked("a"), Asked("b"))

        def ask():
            return find(MemoForm())
        """,
    "transcripts/memos/views.py": """\
        from django.views.decorators.http import require_POST

        @require_POST
        def write(request):

            return ask()

        def register_reader(reader):
            return ask()

        TABLE = [column("text"), Column("kind"), *columns(Memo, "text by at", by="author", at=("written", "When."))]
        """,
    "transcripts/memos/management/commands/count.py": "def add(parser):\n    Argument('--all').but(help='ours').but(default=1)\n",
    "transcripts/memos/migrations/0001_initial.py": "first = 1\n\nsecond = 2\n",
    "templates/memos/list.html": "<p>It stands here.</p>\n\n<p>\n",
    "static/js/desk.js": "first()\n",
    "static/css/desk.css": "p {\n}\n",
    "tests/memos/test_writing.py": "x = 1  # type: ignore[misc]\n",
    "perf/pages.py": "x = 1\n",
    "tools/start.py": "x = 1\n",
    "docs/guide/first.md": "Words that mean\nso many\nthings, so\nmany.\n",
    "README.md": "",
    "CONTRIBUTING.md": "",
    "pyproject.toml": "[tool.a]\n\n[tool.importlinter]\nx = 1\n\n[[tool.importlinter.contracts]]\ny = 1\n\n[tool.b]\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        write(tmp_path / name, text)
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line.removeprefix(" " * 8) for line in text.split("\n")), encoding="utf-8")


def run(monkeypatch, checkout, *options):
    monkeypatch.setattr(sys, "argv", ["ratchet", str(checkout), "--file", str(checkout / "kept.toml"), *options])
    return ratchet.main()


def test_each_measure_is_counted_in_its_room(checkout):
    figures = count_tree(checkout)

    assert figures["auditapp"] == Counter(lines=1, modules=1, small_modules=1, suppressions=1)
    assert figures["auditapp.api"] == Counter(
        lines=8, modules=1, small_modules=1, phrases=1, serializer_fields=3
    ) + Counter(modules_of_one_short_definition=1)
    assert figures["transcripts.memos"] == Counter(
        lines=25,
        modules=4,
        small_modules=4,
        modules_of_one_short_definition=2,
        stored_fields=1,
        form_fields=2,
        command_arguments=2,
        command_lines=2,
        export_columns=3,
        records=2,
        records_built_once=1,
        registries=1,
        post_view_lines=4,
        functions=5,
        functions_named_once=1,
        functions_never_named=3,
        migrations=1,
        migration_lines=2,
    )
    assert figures["templates.memos"] == Counter(template_lines=2, phrases=1)
    assert figures["static"] == Counter(script_lines=1, style_lines=2)
    assert figures["tests.memos"] == Counter(test_lines=1, suppressions=1)
    assert figures["perf"] == Counter(perf_lines=1)
    assert figures["tools"] == Counter(tool_lines=1)
    assert figures["docs"] == Counter(phrases=2)
    assert figures["project"] == Counter(contract_lines=5)


def test_every_measure_of_the_definitions_is_counted_somewhere(checkout):
    never_counted_here = {"protocols", "long_modules", "long_functions", "scattered_filters"}

    assert set(add_up(count_tree(checkout))) == set(MEASURES) - never_counted_here


def test_the_places_of_what_is_named_once_can_be_listed(checkout):
    assert list(list_places(checkout, "functions_named_once")) == ["transcripts/memos/forms.py:14 find"]
    assert list(list_places(checkout, "records_built_once")) == ["transcripts/memos/forms.py:8 Found"]


def test_a_comparison_shows_a_column_for_each_checkout(checkout, capsys):
    before = add_up(count_tree(checkout))
    write(checkout / "transcripts/memos/queries.py", "x = 1\n")

    print_measures([before, add_up(count_tree(checkout))])

    shown = capsys.readouterr().out.splitlines()
    assert any(line.split()[:3] == ["34", "35", "lines:"] for line in shown)
    assert any(line.split()[:3] == ["10", "10", "declarations:"] for line in shown)


def test_a_figure_that_rose_fails_and_says_where_by_how_much_and_what_to_do(checkout, monkeypatch, capsys):
    assert run(monkeypatch, checkout, "--write") == 0
    assert run(monkeypatch, checkout) == 0
    write(checkout / "transcripts/memos/queries.py", "x = 1\ny = 2  # noqa: E501\n")

    assert run(monkeypatch, checkout) == 1

    said = capsys.readouterr().err
    assert "transcripts.memos: lines rose from 25 to 27, by 2 (lines of product code).\n" in said
    assert "transcripts.memos: suppressions rose from 0 to 1, by 1 (" in said
    assert "`make ratchet`" in said


def test_lines_in_one_room_are_not_paid_by_another(checkout, monkeypatch):
    run(monkeypatch, checkout, "--write")
    (checkout / "auditapp/pages.py").unlink()
    write(checkout / "transcripts/new_room/models.py", "x = 1\n")

    assert run(monkeypatch, checkout) == 1


def test_a_figure_that_fell_passes_and_is_written_down(checkout, monkeypatch, capsys):
    run(monkeypatch, checkout, "--write")
    (checkout / "transcripts/memos/forms.py").unlink()

    assert run(monkeypatch, checkout) == 0
    assert run(monkeypatch, checkout, "--write") == 0

    assert ratchet.read_figures(checkout / "kept.toml")["transcripts.memos"]["form_fields"] == 0
    assert not capsys.readouterr().out


def test_writing_a_rise_asks_for_its_reason(checkout, monkeypatch, capsys):
    run(monkeypatch, checkout, "--write")
    write(checkout / "transcripts/memos/queries.py", "x = 1\n")

    assert run(monkeypatch, checkout, "--write") == 0

    said = capsys.readouterr().out
    assert "transcripts.memos: modules rose from 4 to 5, by 1" in said
    assert "body of the commit" in said
    assert run(monkeypatch, checkout) == 0


def test_without_a_file_of_figures_the_check_says_how_to_write_it(checkout, monkeypatch, capsys):
    assert run(monkeypatch, checkout) == 1
    assert "Write it with `make ratchet`." in capsys.readouterr().err


def test_tests_may_grow(checkout, monkeypatch):
    run(monkeypatch, checkout, "--write")
    write(checkout / "tests/memos/test_reading.py", "x = 1\n")

    assert run(monkeypatch, checkout) == 0


def test_the_file_has_a_table_per_room_in_the_order_of_the_alphabet(checkout):
    rooms = [line for line in ratchet.describe(count_tree(checkout)).splitlines() if line.startswith("[")]

    assert rooms == sorted(rooms)
    assert '["transcripts.memos"]' in rooms
