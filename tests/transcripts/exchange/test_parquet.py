"""Large tables as Parquet: what CSV has, with types."""

import datetime
import importlib.util
import io
import json
import uuid
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from pyarrow import parquet

from tests.transcripts.coding.cast import find_code, put
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.actions import withdraw_coding
from transcripts.coding.models import Coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.exchange.actions import write_file
from transcripts.exchange.rows import Scope, find_export, list_exports
from transcripts.formats import report_tables as formats_parquet
from transcripts.formats.report_tables import Field, write_parquet
from transcripts.formats.tabular import write_csv

LARGE = [export for export in list_exports() if export.count_rows]


@pytest.fixture
def coded(study, owner, coder):
    """A study whose cells could be lost: formulas, line ends, letters beyond the first plane, empty and withdrawn ones."""
    turns = [
        {"role": "interviewer", "text": "=1+1?"},
        {"role": "model", "text": '=2, "quoted". \U0001f44b\tTwo.\r\n-3 left.'},
    ]
    import_file(study=study, name="odd.jsonl", data=json.dumps({"id": "=odd", "turns": turns}).encode(), by=owner)
    for sentence in Sentence.objects.filter(turn__interview__external_id="=odd", turn__role="model"):
        put(sentence, find_code(study, "theme.balance"), coder)
    withdraw_coding(study=study, coding=Coding.objects.order_by("pk")[0], by=coder)
    Coding.objects.filter(withdrawn_at=None).update(range_id=uuid.UUID(int=3), quote_start=1, quote_end=2, note="-note")
    return study


def test_the_tables_that_may_be_long_come_as_parquet():
    assert {"codings", "turns", "sentences", "decisions", "sob_answers", "suggestions"} <= {each.key for each in LARGE}
    assert {each.key for each in list_exports() if "parquet" in each.formats} == {each.key for each in LARGE}


@pytest.mark.parametrize("export", LARGE, ids=lambda export: str(export.key))
def test_what_is_read_back_is_the_exact_csv(export, coded, tmp_path):
    scope = Scope(coded, None)
    rows, *_ = write_file(export=export, scope=scope, format="parquet", path=tmp_path / "table.parquet")
    write_file(export=export, scope=scope, format="csv", path=tmp_path / "table.csv", exact=True)
    table = parquet.read_table(tmp_path / "table.parquet")
    again = io.StringIO(newline="")
    columns = [table[name].to_pylist() for name in table.column_names]
    write_csv(zip(*columns, strict=True), header=table.column_names, stream=again, escape_formulas=False)
    assert again.getvalue() == (tmp_path / "table.csv").read_bytes().decode()
    assert rows == table.num_rows
    assert rows or export.key in {"sob_answers", "suggestions", "decisions", "enrolments"}


def test_numbers_times_and_truth_values_are_typed_and_columns_say_what_they_mean(coded, tmp_path):
    for key in ("codings", "turns"):
        export = find_export(key)
        assert export
        write_file(export=export, scope=Scope(coded, None), format="parquet", path=tmp_path / f"{key}.parquet")
    codings, turns = (parquet.read_table(tmp_path / f"{key}.parquet") for key in ("codings", "turns"))
    types = {field.name: str(field.type) for field in (*codings.schema, *turns.schema)}
    assert (types["start"], types["created"], types["is_answer"]) == ("int64", "timestamp[us, tz=UTC]", "bool")
    assert isinstance(codings["created"][0].as_py(), datetime.datetime)
    assert turns.schema.field("turn").metadata[b"meaning"].startswith(b"Place of the turn")


def test_row_groups_keep_memory_flat_and_every_type_comes_back(monkeypatch, tmp_path):
    monkeypatch.setattr(formats_parquet, "ROWS_OF_A_GROUP", 1_000)
    fields = [Field("n", int), Field("cost", Decimal), Field("list"), Field("share", float)]
    rows = [(n, Decimal(n) / 1_000_000_000, [n], n / 7) for n in range(2_500)]
    assert write_parquet(iter(rows), fields=fields, path=tmp_path / "x.parquet") == 2_500
    file = parquet.ParquetFile(tmp_path / "x.parquet")
    assert file.num_row_groups == 3
    assert [tuple(row.values()) for row in file.read().to_pylist()] == [(n, c, f"[{n}]", s) for n, c, _, s in rows]


class TestWithoutPyarrow:
    @pytest.fixture(autouse=True)
    def _lacking(self, monkeypatch):
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *more: None if name == "pyarrow" else find(name, *more)
        )

    def test_the_page_says_how_to_get_it_and_offers_csv(self, study, reader, client_of):
        page = client_of(reader).get(reverse("exchange:exports", args=[study.slug])).content.decode()
        assert "make parquet" in page
        assert "Codings as PARQUET" not in page
        assert "Codings as CSV" in page

    def test_a_request_all_the_same_is_told_and_nothing_is_recorded(self, study, reader, client_of):
        address = reverse("exchange:download", args=[study.slug, "codings", "parquet"])
        assert "make parquet" in client_of(reader).post(address, follow=True).content.decode()
        assert not AuditEvent.objects.filter(action="export.written").exists()

    def test_the_command_says_how_to_get_it_and_leaves_no_file(self, study, tmp_path):
        given = ["codings", "--study", study.slug, "--format", "parquet", "--output", str(tmp_path / "x.parquet")]
        with pytest.raises(CommandError, match=r"make parquet\. CSV has the same rows"):
            call_command("study", "export", *given)
        assert list(tmp_path.iterdir()) == []
