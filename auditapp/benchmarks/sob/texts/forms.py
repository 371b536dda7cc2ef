from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.pure.loading.normalising import BY_FIELDS, DEFAULT_SEED, MAX_SEED, METHODS, Draw
from auditapp.benchmarks.sob.pure.loading.opening import MAX_FILE_BYTES
from auditapp.benchmarks.sob.pure.loading.previewing import Column
from auditapp.benchmarks.sob.pure.loading.published_sources import Provenance
from auditapp.benchmarks.sob.pure.loading.sources import FIELDS
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


class SampleForm(DrawFields, RowForm):
    """A sample of an existing dataset, stored as a new dataset."""

    class Meta(RowForm.Meta):
        model = Dataset
        fields = ("name",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["size"].required = True
        self.fields["size"].help_text = "The number of texts to draw."


class SetChoice(RowsField):
    """Datasets with their counts. The rows need ``n_texts``."""

    def label_from_instance(self, dataset: Any) -> SafeString:
        parts = (dataset.name, dataset.n_texts, dataset.source_name or dataset.file_name)
        return format_html('<span>{} <small class="under">{} texts · {}</small></span>', *parts)


class CombineForm(RowForm):
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

    class Meta(RowForm.Meta):
        model = Dataset
        fields = ("name",)

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        found = Dataset.objects.filter(study=study).select_related("study", "target_table")
        self.fields["sets"].queryset = found.with_counts()  # type: ignore[attr-defined]


class RetargetForm(RowForm):
    """The same texts under another table of targets, as a new dataset."""

    targets = forms.TypedChoiceField(
        coerce=int,
        empty_value=None,
        required=False,
        label="Table",
        help_text="A label that is not in the table has no target.",
    )

    class Meta(RowForm.Meta):
        model = Dataset
        fields = ("name",)

    def __init__(self, *args: object, numbers: Sequence[int], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        own = [(number, f"the study's table {number}") for number in numbers]
        self.fields["targets"].choices = [*own, ("", "the published table")]  # type: ignore[attr-defined]


class RecordForm(ReplacingForm, RowForm):
    """The provenance of texts that are there."""

    class Meta(RowForm.Meta):
        model = Dataset
        fields = Provenance._fields


def read_provenance(form: RecordForm | LoadForm) -> Provenance:
    """The provenance as typed, of a valid form."""
    return Provenance(**{field: form.cleaned_data[field] for field in Provenance._fields})


class FileForm(RowForm):
    """A file of texts, to be looked at before it is loaded."""

    file = forms.FileField(
        help_text="The prepared table of the paper (sob_inputs.csv), one of its five sources as published, or any CSV, JSON "
        "lines or parquet with a column of texts.",
        validators=[limit_size(MAX_FILE_BYTES, "Split it.")],
    )

    class Meta(RowForm.Meta):
        model = Dataset
        fields: ClassVar[tuple[str, ...]] = ("name",)


class LoadForm(FileForm, DrawFields):
    """How the file is read: its columns, which rows are taken, what names the targets, and what is known of the texts."""

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
                # By its place: a name may be a text.
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
        """Our fields' columns; ``None`` where the file is known by its header."""
        if "rows" in self.fields:
            return None
        named = {field: self.cleaned_data[COLUMN + field] for field in FIELDS}
        return {field: self.columns[int(place)][0] for field, place in named.items() if place}

    @property
    def column_fields(self) -> list[forms.BoundField]:
        """The choices of columns, together."""
        return [self[COLUMN + field] for field in FIELDS if COLUMN + field in self.fields]


def _name_column(column: Column) -> str:
    _, shown, examples = column
    return f"{shown} (such as {', '.join(examples)})" if examples else shown


def fill_in(data: QueryDict, proposed: Mapping[str, str]) -> dict[str, str]:
    """What was typed, with a proposal for everything the page did not ask yet."""
    return {**proposed, **{name: str(data[name]) for name in data}}
