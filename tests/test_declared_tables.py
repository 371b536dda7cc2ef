"""The Parquet file of a report's table has the types that the table declares, whatever values a report has."""

import datetime
import io
from dataclasses import replace
from decimal import Decimal

import lxml.html
import pytest
from django.test import Client
from pyarrow import parquet

from auditapp.benchmarks.gender_cues.pure.outputs import TABLE1, TABLE2, make_report
from auditapp.benchmarks.gender_cues.pure.tables import Trial
from auditapp.benchmarks.scenarios.pure import measures as of_scenarios
from auditapp.benchmarks.sob.pure import tables as of_benchmark
from auditapp.benchmarks.sob.pure.report import published_report
from auditapp.demo.actions import load_demo
from tests.approved.copies import crawl
from tests.test_every_figure_has_its_n import import_all, make_benchmark, make_scenarios
from transcripts.accounts.models import User
from transcripts.formats.report_tables import ReportTable, declare, declare_each, write_report_table

TYPES = {
    str: "string",
    int: "int64",
    float: "double",
    bool: "bool",
    datetime.date: "date32[day]",
    Decimal: "decimal128(38, 9)",
}


def list_declared():
    for module in import_all():
        for value in vars(module).values():
            yield from (
                each
                for each in (value.values() if isinstance(value, dict) else [value])
                if isinstance(each, ReportTable)
            )


def read_types(data):
    return {field.name: str(field.type) for field in parquet.read_schema(io.BytesIO(data))}


def declare_types(table):
    return {each.name: TYPES[each.kind] for each in table.columns}


def make_probe():
    trials = [
        Trial(f"{truth}{n}", "m", "primed", f"{truth}{n}", truth, "ok", ("man", "woman")[n % 2], ["Emotion"])
        for truth in ("woman", "man")
        for n in range(12)
    ]
    return make_report(trials, {trial.key: ["Both"] for trial in trials} | {"woman0": ["Women's"]})


def test_a_table_without_rows_has_its_types():
    declared = {id(table): table for table in list_declared()}.values()
    assert len(declared) > 25, "they are not found any more"
    for table in declared:
        data = write_report_table(replace(table, read_rows=lambda _: []), None, "parquet")
        assert read_types(data) == declare_types(table)


@pytest.mark.parametrize(
    ("tables", "makers"),
    [
        (of_scenarios.TABLES.values(), [make_scenarios]),
        (of_benchmark.TABLES.values(), [make_benchmark, published_report]),
        ([TABLE1, TABLE2], [make_probe]),
    ],
    ids=["scenarios", "benchmark", "probe"],
)
def test_a_table_with_rows_has_its_types(tables, makers):
    reports = [make() for make in makers]
    for table in tables:
        rows = 0
        for report in reports:
            data = write_report_table(table, report, "parquet")
            assert read_types(data) == declare_types(table)
            assert parquet.read_table(io.BytesIO(data)).num_rows == len(table.list_rows(report))
            rows += len(table.list_rows(report))
        # The base task was not asked.
        assert rows or table.name == "base", table.name


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_every_table_that_a_page_of_the_demo_offers_has_its_types():
    assert load_demo()
    declared = {tuple(table.names): table for table in list_declared()}
    client, found = Client(), set()
    client.force_login(User.objects.get(username="owner"))
    for _, address, page in crawl("owner"):
        for button in lxml.html.document_fromstring(page).iterfind(".//form//button[@value='parquet']"):
            form = next(button.iterancestors("form"))
            asked = {each.get("name"): each.get("value") for each in form.iterfind(".//input[@type='hidden']")}
            answer = client.post(
                button.get("formaction") or form.get("action") or address, {**asked, "format": "parquet"}
            )
            assert answer.status_code == 200, address
            types = read_types(answer.getvalue())
            assert types == declare_types(declared[tuple(types)])
            found.add(tuple(types))
    assert len(found) > 8, "they are not found any more"


@pytest.mark.parametrize(("kind", "value"), [(int, 1.5), (int, True), (float, True), (float, float("inf"))])
def test_a_cell_that_is_not_of_its_columns_kind_is_refused_and_not_changed(kind, value):
    table = ReportTable("t", "", declare(kind, "x"), lambda _: [{"x": value}])
    with pytest.raises((TypeError, ValueError)):
        write_report_table(table, None, "parquet")


def test_a_name_without_a_kind_is_no_column():
    with pytest.raises(KeyError):
        declare_each(["n", "new"], {int: "n"})
