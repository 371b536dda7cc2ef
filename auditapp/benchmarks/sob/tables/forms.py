from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from django import forms
from django.http import QueryDict

from auditapp.benchmarks.sob.models import MappingTable, TargetTable
from auditapp.benchmarks.sob.pure.measures.mapping import Rows
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import escape_formula, unescape_formula
from transcripts.formats.text_input import CsvError, explain_error, explain_width, find_delimiter, read_csv
from transcripts.history.views import NextForm
from transcripts.refusals import Refused
from transcripts.ui.forms import RowForm

FIELDS = ("raw", "target", "secondary", "tertiary")
# The columns of the table released with the paper.
RELEASED = {
    "original": "raw",
    "normalized": "target",
    "normalized_secondary": "secondary",
    "normalized_tertiary": "tertiary",
}

NO_COLUMNS = (
    "This is not a table, because no line has a second field. Paste at least the columns raw and target, separated "
    "by comma, tab or "
    "semicolon; a header is not needed."
)


class TargetsForm(NextForm, RowForm):
    """A next table of targets: why, and its rows where they are pasted. Rows that are typed are sent with it, field by field."""

    pasted = forms.CharField(
        max_length=1_000_000,
        required=False,
        widget=forms.Textarea({"rows": 6, "spellcheck": "false"}),
        label="Rows as CSV",
        help_text="Replaces the rows below. Columns raw, target, secondary, tertiary; the last two may be left out.",
    )

    class Meta(RowForm.Meta):
        model = TargetTable
        fields = ("reason",)


def list_typed_rows(data: QueryDict) -> list[dict[str, str]]:
    """The rows as typed into the table; one without any target is left out."""
    columns = [data.getlist(field) for field in FIELDS]
    rows = [dict(zip(FIELDS, values, strict=True)) for values in zip(*columns, strict=False)]
    return [row for row in rows if any(row[field].strip() for field in FIELDS[1:])]


def read_pasted(text: str) -> list[dict[str, str]]:
    """The rows of pasted CSV, without a header, or with ours or that of the released table. Separated by comma, tab or
    semicolon; cells at the end of a row may be left out. Raises ``Refused``, which names the line, where there is no second
    column, for a column twice, for a cell under no heading, and for what is no CSV."""
    text = text.strip().replace("\r\n", "\n")
    reader = read_csv(io.StringIO(text), delimiter=find_delimiter(text, among="\t;,"), strict=False)
    columns, rows, line, widest = list(FIELDS), [], 1, 0
    try:
        for number, cells in enumerate(reader):
            begins, line, widest = line, reader.line_num + 1, max(widest, len(cells))
            if number == 0 and (named := _find_columns(cells)):
                columns = named
            elif any(cell.strip() for cell in cells[len(columns) :]):
                raise _refuse_line(begins, *explain_width(len(cells), len(columns)))
            else:
                values = zip(columns, map(unescape_formula, cells), strict=False)
                rows.append({name: value for name, value in values if name in FIELDS})
    except CsvError as error:
        raise _refuse_line(line, *explain_error(error)) from error
    if rows and widest < 2:
        raise Refused(NO_COLUMNS)
    return [row for row in rows if any(value.strip() for value in row.values())]


def _find_columns(cells: Iterable[str]) -> list[str]:
    """What the columns of a header are called here; empty for a row that is none."""
    names = [unescape_formula(cell).strip().lower() for cell in cells]
    columns = [RELEASED.get(name, name) for name in names]
    if not {"raw", "target"} <= set(columns):
        return []
    if twice := [name for name in FIELDS if columns.count(name) > 1]:
        raise _refuse_line(1, f"the column {twice[0]} more than once", "it once")
    return columns


def _refuse_line(line: int, found: str, expected: str) -> Refused:
    return Refused(str(ReadError("Rows as CSV", line, found, expected)), field="pasted")


def write_rows(rows: Iterable[Mapping[str, str]]) -> str:
    """Rows as CSV that can be pasted again; formulas are escaped."""
    written = io.StringIO()
    writer = csv.DictWriter(written, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({field: escape_formula(value) for field, value in row.items()} for row in rows)
    return written.getvalue()


MAX_ROWS_SHOWN = 200


class MappingForm(NextForm, RowForm):
    """The reason for a change of the mapping."""

    class Meta(RowForm.Meta):
        model = MappingTable
        fields = ("reason",)


class MappingRowForm(forms.Form):
    """One target with its two lists, one value per line; without a target there is none."""

    target = forms.CharField(max_length=100, required=False, help_text="As in the texts.")
    self_values = forms.CharField(
        label="Self", required=False, widget=forms.Textarea(attrs={"rows": 4}), help_text="One value per line."
    )
    dominant_values = forms.CharField(
        label="Dominant", required=False, widget=forms.Textarea(attrs={"rows": 4}), help_text="One value per line."
    )
    out = forms.BooleanField(label="Remove this row", required=False)

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if not cleaned.get("target") and (cleaned.get("self_values") or cleaned.get("dominant_values")):
            self.add_error("target", "These values have no target. Name it, or clear both lists.")
        return cleaned


MappingRowFormSet = forms.formset_factory(
    MappingRowForm,
    extra=2,
    max_num=MAX_ROWS_SHOWN,
    absolute_max=MAX_ROWS_SHOWN + 10,
)


def read_rows(formset: forms.BaseFormSet[MappingRowForm]) -> Rows:
    """The rows of a valid form set as a mapping has them. Raises ``Refused`` for a target that is named twice."""
    rows: dict[str, dict[str, list[str]]] = {}
    for form in formset.forms:
        target = form.cleaned_data.get("target", "")
        if not target or form.cleaned_data.get("out"):
            continue
        if target in rows:
            raise Refused(f"{target} has two rows. Combine them.")
        rows[target] = {
            "self": form.cleaned_data["self_values"].splitlines(),
            "dominant": form.cleaned_data["dominant_values"].splitlines(),
        }
    return rows


def fill_in(rows: Rows) -> list[dict[str, str]]:
    """A mapping as the form set shows it."""
    return [
        {
            "target": target,
            "self_values": "\n".join(lists.get("self", ())),
            "dominant_values": "\n".join(lists.get("dominant", ())),
        }
        for target, lists in rows.items()
    ]
