"""Forms for datasets, tables of targets and mappings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.benchmarks.sob.models import Dataset, MappingTable, TargetTable
from auditapp.benchmarks.sob.pure.attributions import Rows
from auditapp.benchmarks.sob.pure.dataset_files import MAX_FILE_BYTES, Provenance
from auditapp.benchmarks.sob.pure.dataset_sources import FIELDS, Column
from auditapp.benchmarks.sob.pure.dataset_texts import BY_FIELDS, DEFAULT_SEED, MAX_SEED, METHODS, Draw
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import escape_formula, unescape_formula
from transcripts.formats.text_input import CsvError, explain_error, explain_width, find_delimiter, read_csv
from transcripts.history.views import NextForm
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import ReplacingForm, RowForm, RowsField, limit_size

COLUMN = "column_"
COLUMN_LABELS = {
    "text": "Text",
    "target": "Target",
    "source": "Source",
    "external_id": "Id in the source",
    "target_secondary": "Secondary target",
    "target_tertiary": "Tertiary target",
    "target_raw": "Source's own label of the target",
    "kind": "Kind",
}
TARGETS = [
    (Dataset.TargetsFrom.FILE, "as the file names them"),
    (Dataset.TargetsFrom.PUBLISHED, "from the published table, by the source's own label"),
]


class DrawFields(forms.Form):
    """How many texts to take, and how they are chosen."""

    size = forms.IntegerField(min_value=1, required=False, label="Texts", help_text="Leave empty for all.")
    method = forms.ChoiceField(choices=list(METHODS.items()), label="Drawn")
    by_field = forms.ChoiceField(choices=list(BY_FIELDS.items()), label="Strata")
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        initial=DEFAULT_SEED,
        help_text="The same seed draws the same texts.",
    )

    def clean_seed(self) -> int:
        seed: int | None = self.cleaned_data["seed"]
        return DEFAULT_SEED if seed is None else seed

    def read_draw(self) -> Draw | None:
        """The sample as asked for; ``None`` for every text."""
        chosen = [self.cleaned_data[name] for name in ("size", "method", "by_field", "seed")]
        return None if chosen[0] is None else Draw(*chosen)


class NewDatasetForm(RowForm):
    """The name of a new dataset."""

    class Meta(RowForm.Meta):
        model = Dataset
        fields: ClassVar[tuple[str, ...]] = ("name",)


class SampleForm(DrawFields, NewDatasetForm):
    """A sample of an existing dataset, stored as a new dataset."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["size"].required = True
        self.fields["size"].help_text = "The number of texts to draw."


class SetChoice(RowsField):
    """Datasets with their counts. The rows need ``n_texts``."""

    def label_from_instance(self, dataset: Any) -> SafeString:
        parts = (dataset.name, dataset.n_texts, dataset.source_name or dataset.file_name)
        return format_html('<span>{} <small class="under">{} texts · {}</small></span>', *parts)


class CombineForm(NewDatasetForm):
    """Combine several datasets into a new one. Texts keep the order in which the datasets were loaded."""

    sets = SetChoice(
        queryset=Dataset.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Tick at least two datasets.",
            "invalid_choice": "This study has no such dataset. Tick those listed here.",
            "invalid_pk_value": "This study has no such dataset. Tick those listed here.",
        },
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        found = Dataset.objects.filter(study=study).select_related("study", "target_table")
        self.fields["sets"].queryset = found.with_counts()  # type: ignore[attr-defined]


class RetargetForm(NewDatasetForm):
    """The same texts under another table of targets, as a new dataset."""

    targets = forms.TypedChoiceField(
        coerce=int,
        empty_value=None,
        required=False,
        label="Table",
        help_text="A label that is not in the table has no target.",
    )

    def __init__(self, *args: object, numbers: Sequence[int], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        own = [(number, f"the study's table {number}") for number in numbers]
        self.fields["targets"].choices = [*own, ("", "the published table")]  # type: ignore[attr-defined]


class RecordForm(ReplacingForm, RowForm):
    """The provenance of the texts of an existing dataset."""

    class Meta(RowForm.Meta):
        model = Dataset
        fields = Provenance._fields


def read_provenance(form: RecordForm | LoadForm) -> Provenance:
    """The provenance as typed in a valid form."""
    return Provenance(**{field: form.cleaned_data[field] for field in Provenance._fields})


class FileForm(NewDatasetForm):
    """A file of texts, to be previewed before it is loaded."""

    file = forms.FileField(
        help_text="The prepared table of the paper (sob_inputs.csv), one of its five sources as published, or any CSV, JSON "
        "lines or parquet with a column of texts.",
        validators=[limit_size(MAX_FILE_BYTES, "Split it.")],
    )


class LoadForm(FileForm, DrawFields):
    """How the file is read: its columns, which rows are taken, what names the targets, and what is known about the texts."""

    checked = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    rows = forms.ChoiceField(
        choices=[
            ("benchmark", "those of the benchmark (its filter and draw, seed 42)"),
            ("all", "every row of the file"),
        ],
        label="Rows",
    )
    drops_repeated = forms.BooleanField(
        required=False, label="Leave out texts that are repeated exactly within a source"
    )
    targets = forms.ChoiceField(choices=TARGETS, help_text="A label that is not in the table has no target.")

    class Meta(FileForm.Meta):
        fields = ("name", *Provenance._fields)

    def __init__(
        self,
        *args: object,
        columns: Sequence[Column] = (),
        is_published: bool = False,
        newest_table: int | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.columns = columns
        for field in FIELDS:
            self.fields[COLUMN + field] = forms.ChoiceField(
                # The value is the column's position, because the name of a column may be a text of the dataset.
                choices=[("", "none"), *((str(place), _name_column(each)) for place, each in enumerate(columns))],
                required=False,
                label=COLUMN_LABELS[field],
            )
        if is_published:
            for field in FIELDS:
                del self.fields[COLUMN + field]
        else:
            del self.fields["rows"]
        if newest_table is not None:
            own = (Dataset.TargetsFrom.TABLE, f"from the study's table {newest_table}, by the source's own label")
            self.fields["targets"].choices = [*TARGETS, own]  # type: ignore[attr-defined]

    def read_columns(self) -> dict[str, str] | None:
        """The columns for our fields; ``None`` if the header identifies the file as a published one."""
        if "rows" in self.fields:
            return None
        named = {field: self.cleaned_data[COLUMN + field] for field in FIELDS}
        return {field: self.columns[int(place)][0] for field, place in named.items() if place}

    @property
    def column_fields(self) -> list[forms.BoundField]:
        """The fields in which columns are chosen."""
        return [self[COLUMN + field] for field in FIELDS if COLUMN + field in self.fields]


def _name_column(column: Column) -> str:
    _, shown, examples = column
    return f"{shown} (such as {', '.join(examples)})" if examples else shown


def fill_in(data: QueryDict, proposed: Mapping[str, str]) -> dict[str, str]:
    """What was typed, with a proposed value for every field that the page has not shown yet."""
    return {**proposed, **{name: str(data[name]) for name in data}}


TARGET_FIELDS = ("raw", "target", "secondary", "tertiary")
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
    """The next table of targets: the reason, and its rows if they are pasted. Typed rows are sent with it, field by field."""

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
    """The rows as typed into the table, without those that have no target."""
    columns = [data.getlist(field) for field in TARGET_FIELDS]
    rows = [dict(zip(TARGET_FIELDS, values, strict=True)) for values in zip(*columns, strict=False)]
    return [row for row in rows if any(row[field].strip() for field in TARGET_FIELDS[1:])]


def read_pasted(text: str) -> list[dict[str, str]]:
    """The rows of pasted CSV, with our header, with that of the released table, or without one. The separator is a comma, a tab or
    a semicolon; cells at the end of a row may be left out. Raises ``Refused``, which names the line, if there is no second column,
    if a column is repeated, if a cell has no heading, or if the text is not CSV."""
    text = text.strip().replace("\r\n", "\n")
    reader = read_csv(io.StringIO(text), delimiter=find_delimiter(text, among="\t;,"), strict=False)
    columns, rows, line, widest = list(TARGET_FIELDS), [], 1, 0
    try:
        for number, cells in enumerate(reader):
            begins, line, widest = line, reader.line_num + 1, max(widest, len(cells))
            if number == 0 and (named := _find_columns(cells)):
                columns = named
            elif any(cell.strip() for cell in cells[len(columns) :]):
                raise _refuse_line(begins, *explain_width(len(cells), len(columns)))
            else:
                values = zip(columns, map(unescape_formula, cells), strict=False)
                rows.append({name: value for name, value in values if name in TARGET_FIELDS})
    except CsvError as error:
        raise _refuse_line(line, *explain_error(error)) from error
    if rows and widest < 2:
        raise Refused(NO_COLUMNS)
    return [row for row in rows if any(value.strip() for value in row.values())]


def _find_columns(cells: Iterable[str]) -> list[str]:
    """Our names for the columns of a header; empty if the row is not a header."""
    names = [unescape_formula(cell).strip().lower() for cell in cells]
    columns = [RELEASED.get(name, name) for name in names]
    if not {"raw", "target"} <= set(columns):
        return []
    if twice := [name for name in TARGET_FIELDS if columns.count(name) > 1]:
        raise _refuse_line(1, f"the column {twice[0]} more than once", "it once")
    return columns


def _refuse_line(line: int, found: str, expected: str) -> Refused:
    return Refused(str(ReadError("Rows as CSV", line, found, expected)), field="pasted")


def write_rows(rows: Iterable[Mapping[str, str]]) -> str:
    """Rows as CSV that can be pasted again; formulas are escaped."""
    written = io.StringIO()
    writer = csv.DictWriter(written, TARGET_FIELDS, lineterminator="\n")
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
    """One target with its two lists, one value per line; a row without a target is left out."""

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
    MappingRowForm, extra=2, max_num=MAX_ROWS_SHOWN, absolute_max=MAX_ROWS_SHOWN + 10
)


def read_rows(formset: forms.BaseFormSet[MappingRowForm]) -> Rows:
    """The rows of a mapping, from a valid form set. Raises ``Refused`` for a target that is named twice."""
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


def fill_in_rows(rows: Rows) -> list[dict[str, str]]:
    """The initial values of the form set for a mapping."""
    return [
        {
            "target": target,
            "self_values": "\n".join(lists.get("self", ())),
            "dominant_values": "\n".join(lists.get("dominant", ())),
        }
        for target, lists in rows.items()
    ]
