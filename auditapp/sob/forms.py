from __future__ import annotations

from django import forms

from auditapp.batches.forms import LaunchOptions, list_variants
from auditapp.llm.models import ModelVariant
from auditapp.sob.instruments import load_instruments
from auditapp.sob.models import Dataset
from transcripts.projects.models import Project

TASKS = [("acceptability", "Acceptability"), ("non_acceptability", "Non-acceptability")]


class DatasetForm(forms.Form):
    """A file of texts to load."""

    name = forms.CharField(max_length=100, help_text="What the study calls this set of texts.")
    file = forms.FileField(
        help_text="The prepared table of the paper (sob_inputs.csv), or any CSV or JSON lines with columns text and target."
    )
    text_column = forms.CharField(
        max_length=100, required=False, help_text="The file's column of the texts, when it is not “text”."
    )
    target_column = forms.CharField(
        max_length=100, required=False, help_text="The file's column of the targets, when it is not “target”."
    )

    def get_columns(self) -> dict[str, str] | None:
        """The column mapping as typed; ``None`` for none."""
        named = {"text": self.cleaned_data["text_column"], "target": self.cleaned_data["target_column"]}
        return {ours: theirs for ours, theirs in named.items() if theirs} or None


class LaunchForm(LaunchOptions):
    """What to ask, of which models, and how."""

    what = (
        ("What is asked", ("dataset limit", "tasks", "instrument")),
        ("Of which models", ("models", "notice")),
    )

    dataset = forms.ModelChoiceField(queryset=Dataset.objects.none(), empty_label=None)
    limit = forms.IntegerField(
        min_value=1,
        required=False,
        label="Texts",
        help_text="Take only so many, spread evenly over the set. Empty for all.",
    )
    tasks = forms.MultipleChoiceField(
        choices=TASKS, widget=forms.CheckboxSelectMultiple, initial=[key for key, _ in TASKS]
    )
    instrument = forms.ChoiceField(
        choices=[],
        label="Wording",
        help_text="The paper's wording, or that of its released code. Answers to one do not compare with the other's.",
    )
    models = forms.ModelMultipleChoiceField(queryset=ModelVariant.objects.none(), widget=forms.CheckboxSelectMultiple)
    notice = forms.BooleanField(
        label="I know that the instrument tells the model not to refuse, and I have read the provider's terms.",
        error_messages={"required": "Please confirm this before texts of this kind are sent."},
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["dataset"].queryset = Dataset.objects.filter(project=project)  # type: ignore[attr-defined]
        self.fields["models"].queryset = list_variants()  # type: ignore[attr-defined]
        variants = dict.fromkeys(instrument.variant for instrument in load_instruments())
        self.fields["instrument"].choices = [(key, key) for key in variants]  # type: ignore[attr-defined]
