import io
import json
import math
from datetime import date
from decimal import Decimal

import pytest

from transcripts.formats.report_tables import Printed, ReportTable, declare, write_report_table
from transcripts.formats.tabular import write_csv

ROWS = [
    {"name": '=SUM(1), "x"', "n": 1, "share": 0.1 + 0.2, "is_few": True, "sets": ["a", "é"]},
    {"name": "line\nbreak", "n": None, "share": None, "is_few": False, "sets": None, "unnamed": "never shown"},
    {"name": "−1", "n": 3, "share": 1.0},
]
TABLE = ReportTable(
    "shares",
    "Shares.",
    (
        *declare(str, "name"),
        *declare(int, "n"),
        *declare(float, "share"),
        *declare(bool, "is_few"),
        *declare(str, "sets"),
    ),
    lambda rows: rows,
    heads={"n": "Of"},
)


def test_a_table_and_an_export_write_the_same_csv():
    stream = io.StringIO(newline="")
    write_csv(TABLE.list_rows(ROWS), header=TABLE.names, stream=stream)
    assert write_report_table(TABLE, ROWS, "csv").decode() == stream.getvalue()


def test_a_spreadsheet_runs_no_cell_unless_the_file_is_to_be_exact():
    assert b"'=SUM" in write_report_table(TABLE, ROWS, "csv")
    assert b"'=SUM" not in write_report_table(TABLE, ROWS, "csv", exact=True)


@pytest.mark.parametrize("format", TABLE.formats)
def test_a_table_without_rows_is_a_file(format):
    assert write_report_table(TABLE, [], format)


def test_json_has_the_numbers_themselves():
    first, second, _ = json.loads(write_report_table(TABLE, ROWS, "json"))
    assert first == {"name": '=SUM(1), "x"', "n": 1, "share": 0.1 + 0.2, "is_few": True, "sets": ["a", "é"]}
    assert second["share"] is None


def test_parquet_has_the_declared_types_whatever_the_values_are():
    from pyarrow import parquet

    day = date(2026, 11, 29)
    rows = [
        {"n": 1, "share": 1, "bias": 0.5, "cost": Decimal("0.10"), "day": day, "about": {"a": 1}},
        {"n": None, "bias": "-INF"},
    ]
    columns = (
        *declare(int, "n"),
        *declare(float, "share"),
        *declare(str, "bias"),
        *declare(Decimal, "cost"),
        *declare(date, "day"),
        *declare(str, "about"),
    )
    table = ReportTable("t", "T.", columns, lambda rows: rows)
    read, empty = (
        parquet.read_table(io.BytesIO(write_report_table(table, given, "parquet"))) for given in (rows, rows[1:])
    )
    assert read.schema == empty.schema
    assert [str(each.type) for each in read.schema][:3] == ["int64", "double", "string"]
    assert read.to_pylist() == [
        {"n": 1, "share": 1.0, "bias": "0.5", "cost": Decimal("0.10"), "day": day, "about": '{"a":1}'},
        {"n": None, "share": None, "bias": "-INF", "cost": None, "day": None, "about": None},
    ]


def test_print_has_three_decimals_a_dash_for_nothing_and_heads_of_its_own():
    assert TABLE.list_heads() == ["Name", "Of", "Share", "Is_few", "Sets"]
    assert TABLE.print_rows(ROWS)[1] == ["line\nbreak", "–", "–", "False", "–"]
    latex = write_report_table(TABLE, ROWS, "tex", caption="Shares of 2026.").decode()
    assert "0.300" in latex
    assert r"\caption{Shares of 2026.}" in latex


def test_a_column_of_print_may_be_made_of_several():
    printed = [Printed("Share (n)", lambda row: f"{row['share']} ({row['n']})")]
    table = ReportTable("t", "T.", [*declare(float, "share"), *declare(int, "n")], lambda rows: rows, printed=printed)
    assert table.list_heads() == ["Share (n)"]
    assert table.print_rows(ROWS)[2] == ["1.0 (3)"]


def test_a_table_that_makes_none_on_paper_has_no_latex():
    table = ReportTable("t", "T.", declare(int, "n"), lambda rows: rows, is_printed=False)
    assert "tex" not in table.formats
    with pytest.raises(KeyError):
        write_report_table(table, ROWS, "tex")


@pytest.mark.parametrize("format", [each for each in TABLE.formats if each != "tex"])
def test_a_number_that_is_not_finite_is_refused(format):
    unwritable = [{"share": math.nan}]
    with pytest.raises(ValueError, match=r"not a finite number|not JSON compliant"):
        write_report_table(TABLE, unwritable, format)
