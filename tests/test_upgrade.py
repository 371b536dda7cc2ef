"""Data of earlier releases are upgraded: nothing is lost, and what was stored keeps its meaning, on both databases.

``tests/data/releases`` has one file for each: the rows of a small site as that release left them. The site is the demo, with
invented texts, and a batch that was paused before its first call. docs/operations.md says how to add the next.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.instance import Instance
from tests.old_migrations import unmigrated_instance

RELEASES = sorted((Path(__file__).parent / "data" / "releases").glob("*.json.gz"))
# Of everything that people and models have done, the number of rows.
KEPT = (
    "coding_",
    "corpus_",
    "audit_trail_",
    "preannotation_",
    "sob_",
    "batches_",
    "memos_",
    "themes_",
    "projects_project",
)

# Brings an empty database to where the release left it: its migrations, then its rows as they were.
FILL = """
import gzip, json, sys
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
    tables = json.load(file)["tables"]
applied = tables.pop("django_migrations")
app, name = (applied["columns"].index(each) for each in ("app", "name"))
had = {(row[app], row[name]) for row in applied["rows"]}
executor = MigrationExecutor(connection)
graph = executor.loader.graph
inner = {parent.key for key in had if key in graph.node_map for parent in graph.node_map[key].parents if parent.key[0] == key[0]}
executor.migrate([key for key in had if key in graph.node_map and key not in inner])
schema = connection.introspection
with transaction.atomic(), connection.cursor() as cursor:
    for table, content in tables.items():
        columns = content["columns"]
        kinds = {each.name: schema.get_field_type(each.type_code, each) for each in schema.get_table_description(cursor, table)}
        rows = [
            [
                bool(value) if kinds[column] == "BooleanField" and value is not None else value
                for column, value in zip(columns, row)
            ]
            for row in content["rows"]
        ]
        names = ", ".join(f'"{column}"' for column in columns)
        holes = ", ".join(["%s"] * len(columns))
        cursor.execute(f'DELETE FROM "{table}"')
        cursor.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({holes})', rows)
        if connection.vendor == "postgresql" and kinds.get("id") in {"BigAutoField", "AutoField"}:
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM \\"{table}\\"))"
            )
connection.check_constraints()
"""
# What a person sees: her codings in words, and that pages of every room answer.
LOOK = """
import json
from django.test import Client
from django.urls import reverse
from transcripts.accounts.models import User
from transcripts.coding.models import Coding

client = Client(headers={"host": "127.0.0.1:8000"})
client.force_login(User.objects.get(username="owner"))
pages = ["", "interviews/", "interviews/1/", "codebook/", "search/?q=the", "agreement/", "batches/", "batches/2/", "batches/3/",
         reverse("sob:report", args=["demo", 2]).removeprefix("/p/demo/"),
         "preannotation/calibration/", "history/", "members/", "exports/"]
found = {page: client.get(f"/p/demo/{page}", follow=True).status_code for page in pages}
codings = [
    [coding.coder.username, coding.code.identifier, coding.sentence.read_text(), coding.note]
    for coding in Coding.objects.select_related("coder", "code", "sentence__turn").order_by("pk")
]
print(json.dumps({"pages": found, "codings": codings}))
"""


def read_release(file: Path) -> dict[str, Any]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        tables: dict[str, Any] = json.load(stream)["tables"]
    return tables


def read_rows(tables: dict[str, Any], table: str, *columns: str) -> list[list[Any]]:
    places = [tables[table]["columns"].index(column) for column in columns]
    return [[row[place] for place in places] for row in tables[table]["rows"]]


@pytest.fixture(params=RELEASES, ids=lambda file: file.name.partition(".")[0])
def release(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


@pytest.fixture
def old_site(release: Path, tmp_path: Path) -> Iterator[Instance]:
    with unmigrated_instance(tmp_path / "site") as instance:
        instance.run_code(FILL, str(release))
        yield instance


@pytest.mark.processes
@pytest.mark.full
def test_a_site_of_an_earlier_release_is_upgraded_with_all_it_has(release: Path, old_site: Instance) -> None:
    tables = read_release(release)
    old_site.manage("prepare", "--no-demo")
    for table, content in tables.items():
        if table.startswith(KEPT) and table != "audit_trail_auditevent":
            assert old_site.query(f"SELECT count(*) FROM {table}") == [(len(content["rows"]),)], table
    old = len(tables["audit_trail_auditevent"]["rows"])
    assert old_site.query("SELECT count(*) FROM audit_trail_auditevent")[0][0] >= old
    assert "the chain is intact" in old_site.manage("verify_audit")
    assert json.loads(old_site.manage("verify_audit", "--rows", "--json"))["breaks"] == []
    assert "no invariant is broken" in old_site.manage("verify_batches")
    assert old_site.query("SELECT state, control FROM batches_batch WHERE id = 3") == [("paused", "pause")]

    seen = json.loads(old_site.run_code(LOOK).splitlines()[-1])
    assert {page: status for page, status in seen["pages"].items() if status != 200} == {}
    turns = dict(read_rows(tables, "corpus_turn", "id", "text"))
    sentences = {
        number: turns[turn][start:end]
        for number, turn, start, end in read_rows(tables, "corpus_sentence", "id", "turn_id", "start", "end")
    }
    people = dict(read_rows(tables, "accounts_user", "id", "username"))
    codes = dict(read_rows(tables, "codebook_code", "id", "identifier"))
    assert seen["codings"] == [
        [people[coder], codes[code], sentences[sentence], note]
        for coder, code, sentence, note in read_rows(
            tables, "coding_coding", "coder_id", "code_id", "sentence_id", "note"
        )
    ]


def test_there_is_a_release_to_upgrade_from() -> None:
    assert RELEASES
