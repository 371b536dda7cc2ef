from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.batches.forms import LaunchOptionsForm, list_variants
from auditapp.llm.models import ModelVariant, Price
from auditapp.llm.queries import find_prices
from auditapp.sob.judging.actions.launching import find_notice
from auditapp.sob.models import Dataset, Wording
from auditapp.sob.pure.instruments import BASE_TASK, PAPER, RELEASE, TASKS
from auditapp.sob.pure.instruments import list_variants as list_wordings
from transcripts.projects.models import Project
from transcripts.ui.fields import RowsField, limit_size

WORDINGS = {
    PAPER: "paper: as printed in Tables 8 and 9",
    RELEASE: "release: as in the released code",
}


class DatasetChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A dataset with its counts. The rows need ``n_texts`` and ``n_targets``."""

    def label_from_instance(self, dataset: Any) -> str:
        return f"{dataset.name}: {dataset.n_texts:,} texts, {dataset.n_targets:,} targets"


class ModelChoice(RowsField):
    """Models, each with where it is asked, how it is set, and whether it is known what it costs."""

    prices: Mapping[int, Price] = {}

    def label_from_instance(self, variant: ModelVariant) -> SafeString:
        said = "; ".join(self._describe(variant))
        return format_html('<span>{} <small class="under">{}</small></span>', variant.label, said)

    def _describe(self, variant: ModelVariant) -> list[str]:
        if variant.is_fake:
            parts = ["fake provider: its answers are invented"]
        else:
            parts = [f"{variant.model} at {variant.account.name} ({variant.provider.replace('_', ' ')})"]
        parts.append(variant.settings_in_words)
        price = self.prices.get(variant.pk)
        if price is None:
            parts.append("no price recorded")
        else:
            parts.append(f"${price.price_in.normalize():f} in, ${price.price_out.normalize():f} out per million tokens")
        return parts


class LaunchForm(LaunchOptionsForm):
    """The texts, tasks, models and options of a launch."""

    what = (
        ("Tasks", ("dataset", "limit", "tasks", "include_base", "instrument")),
        ("Models", ("models", "notice")),
    )

    dataset = DatasetChoice(queryset=Dataset.objects.none(), empty_label=None)
    limit = forms.IntegerField(
        min_value=1,
        required=False,
        label="Texts",
        help_text="Uses only this many texts, evenly spaced in the order of the file. Leave empty for all. For a sample in "
        "proportion to the targets, draw one on the dataset's page.",
    )
    tasks = forms.MultipleChoiceField(
        choices=TASKS, widget=forms.CheckboxSelectMultiple, initial=[key for key, _ in TASKS]
    )
    include_base = forms.BooleanField(
        required=False,
        label="Include the Base prompt",
        help_text="One more arm for each model: acceptable, non-acceptable or uncertain, without describing anybody. A contrast "
        "with no score. The prompt is a reconstruction, because the paper's exact wording has not been published.",
    )
    instrument = forms.ChoiceField(
        choices=[],
        label="Wording",
        help_text="The same for both tasks. Answers to different wordings cannot be compared.",
    )
    models = ModelChoice(queryset=ModelVariant.objects.none(), widget=forms.CheckboxSelectMultiple)
    notice = forms.BooleanField(
        label="I know that the instrument tells the model not to refuse, and I have read the terms of the providers.",
        help_text="Asked once per study. The study records who confirmed it, and when.",
        error_messages={"required": "Please confirm this before texts of this kind are sent."},
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["repeats"].help_text = (
            "How often each model gets each text under each task. The paper asked once. More repeats show how much a score "
            "varies from run to run. Each costs as much as the first."
        )
        self.fields["dataset"].queryset = Dataset.objects.filter(project=project).with_counts()  # type: ignore[attr-defined]
        variants = list_variants()
        self.fields["models"].queryset = variants  # type: ignore[attr-defined]
        self.fields["models"].prices = find_prices(variants)  # type: ignore[attr-defined]
        own = Wording.objects.filter(project=project).order_by("name").values_list("name", flat=True).distinct()
        self.fields["instrument"].choices = [  # type: ignore[attr-defined]
            *((key, WORDINGS.get(key, key)) for key in list_wordings()),
            *((name, f"{name}: this study's own wording, not comparable") for name in own),
        ]
        self.confirmed = find_notice(project)
        if self.confirmed is not None:
            del self.fields["notice"]


# A larger file takes longer to store than a page should be waited for, and all of it is held in memory.
MAX_UPLOAD_BYTES = 100_000_000


class ImportForm(forms.Form):
    """Answers of another run, and the texts they belong to. ``checked`` is a hash of what was previewed."""

    dataset = DatasetChoice(
        queryset=Dataset.objects.none(),
        empty_label=None,
        label="Texts",
        help_text="The dataset that the answers are about.",
    )
    file = forms.FileField(
        help_text="The authors' sob_results.csv, or an Inspect log (.json, .eval) of the same task.",
        error_messages={"empty": "The file is empty. Choose the file with the answers."},
        validators=[limit_size(MAX_UPLOAD_BYTES, "Import a larger one with `manage.py sob import`.")],
    )
    task = forms.ChoiceField(
        choices=[("", "as named in the file"), *TASKS, (BASE_TASK, "Base")],
        required=False,
        help_text="Choose one if the file names its prompt differently.",
    )
    checked = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        found = Dataset.objects.filter(project=project).select_related("project")
        self.fields["dataset"].queryset = found.with_counts()  # type: ignore[attr-defined]
