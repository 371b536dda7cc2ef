"""Launches of batches and formatters, interpretations by people, the study's own wordings, and audits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from auditapp.audits.views import BaseMarkForm
from auditapp.batches.forms import LaunchOptionsForm, list_variants, seed_field
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.judging.actions import MARK_OUTCOMES, MAX_VALUE_LENGTH, list_person_outcomes
from auditapp.benchmarks.sob.judging.kind import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.benchmarks.sob.judging.launching import check_name, find_notice
from auditapp.benchmarks.sob.models import Audit, AuditMark, Dataset, Interpretation, Wording
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES, Outcome, name_characteristic
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, PAPER, RELEASE, TASKS
from auditapp.benchmarks.sob.pure.instruments import list_variants as list_wordings
from auditapp.benchmarks.sob.pure.parsing import VERDICTS
from auditapp.llm.models import ModelVariant, Price
from auditapp.llm.queries import find_prices
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import NumberField, RowForm, RowsField, limit_size
from transcripts.ui.typed_text import MAX_SEED, MAX_TEXT

OUTCOME_WORDS = {
    Outcome.ATTRIBUTED: "Attributed: it attributes at least one characteristic to the person",
    Outcome.UNKNOWN: "Unknown: it says that the person is unknown, or that the answer cannot be known",
    Outcome.VERDICT: "A verdict: acceptable, not acceptable or uncertain",
    Outcome.REFUSAL: "Refusal: it declines to do the task",
    Outcome.OFF_FORMAT: "Cannot be read: it says none of this, or contradicts itself",
}
FORMATTER_CHOICES = {
    Outcome.OFF_FORMAT: "answers that no rule could read",
    Outcome.REFUSAL: "refusals in words, recognised by a rule of thumb",
}


def outcome_field(outcomes: Iterable[str]) -> forms.ChoiceField:
    """The possible outcomes of an answer."""
    return forms.ChoiceField(
        label="What does the answer say?",
        choices=[(str(key), OUTCOME_WORDS[Outcome(key)]) for key in outcomes],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the answer says."},
    )


class FormatterForm(LaunchOptionsForm):
    """Which answers a formatter gets, which model it is, and how it is asked."""

    what = (("Answers and model", ("outcomes", "model", "without_schema")),)

    outcomes = forms.MultipleChoiceField(
        label="Answers",
        choices=[(str(key), FORMATTER_CHOICES[key]) for key in READABLE_OUTCOMES],
        initial=[str(key) for key in DEFAULT_OUTCOMES],
        widget=forms.CheckboxSelectMultiple,
        help_text="Refusals are sent only if you choose so, because the formatter's interpretation may remove them from the share "
        "refused. An answer stays a refusal unless it contains the values that the formatter names.",
        error_messages={"required": "Choose at least one kind of answer."},
    )
    model = forms.ModelChoiceField(
        queryset=ModelVariant.objects.none(),
        empty_label=None,
        help_text="A small model is enough: it only converts an answer to a fixed form.",
    )
    without_schema = forms.BooleanField(
        required=False,
        label="Ask without structured answers",
        help_text="Otherwise the formatter's answers must follow a JSON schema if a probe found that the model's server honours "
        "one.",
    )

    def __init__(self, *args: object, source: Batch, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.source = source
        self.fields["model"].queryset = list_variants()  # type: ignore[attr-defined]
        # An answer has one interpretation by a formatter at a time; a further attempt needs a batch of its own.
        del self.fields["repeats"]


class InterpretationForm(RowForm):
    """A person's interpretation of one answer: its outcome, and each characteristic that the answer gives."""

    number = NumberField()

    class Meta(RowForm.Meta):
        model = Interpretation
        fields = ("note",)

    def __init__(self, *args: object, task: str, schema: Sequence[str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.schema = list(schema)
        self.fields["outcome"] = outcome_field(list_person_outcomes(task))
        if Outcome.VERDICT in list_person_outcomes(task):
            words = [(key, key.replace("_", " ")) for key in VERDICTS]
            self.fields["verdict"] = forms.ChoiceField(choices=[("", "none"), *words], required=False)
        else:
            for place, name in enumerate(self.schema):
                self.fields[f"value-{place}"] = forms.CharField(
                    label=_capitalise(name), max_length=MAX_VALUE_LENGTH, required=False
                )
            self.fields["other"] = forms.CharField(
                label="Other characteristics",
                required=False,
                max_length=10_000,
                widget=forms.Textarea({"rows": 2}),
                help_text="One on each line, as name: value.",
            )

    @property
    def values(self) -> list[forms.BoundField]:
        """The fields for the characteristics, in the order of the schema."""
        return [self[name] for name in self.fields if name.startswith("value-")]

    def clean_other(self) -> dict[str, str]:
        named: dict[str, str] = {}
        for line in filter(None, map(str.strip, self.cleaned_data["other"].splitlines())):
            name, colon, value = (part.strip() for part in line.partition(":"))
            if not (name and colon and value):
                raise forms.ValidationError("Write one on each line, as name: value.")
            if name_characteristic(name, self.schema) is not None or name in named:
                raise forms.ValidationError(f"“{name[:60]}” has a field above, or occurs twice here. Name it once.")
            named[name] = value
        return named

    def read(self) -> dict[str, Any]:
        """The interpretation as typed, once the form is valid, for ``read_by_person``."""
        typed: dict[str, Any] = self.cleaned_data
        attributes = {
            _capitalise(name): typed[f"value-{place}"]
            for place, name in enumerate(self.schema)
            if typed.get(f"value-{place}")
        }
        return {
            "outcome": typed["outcome"],
            "attributes": {**attributes, **(typed.get("other") or {})},
            "verdict": typed.get("verdict", ""),
            "note": typed["note"],
            "number": typed["number"],
        }


def _capitalise(name: str) -> str:
    return name[:1].upper() + name[1:]


WORDINGS = {PAPER: "paper: as printed in Tables 8 and 9", RELEASE: "release: as in the released code"}


class DatasetChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """The choice of a dataset, with its counts. The rows need ``n_texts`` and ``n_targets``."""

    def label_from_instance(self, dataset: Any) -> str:
        return f"{dataset.name}: {dataset.n_texts:,} texts, {dataset.n_targets:,} targets"


class ModelChoice(RowsField):
    """The choice of models, each with its account, its settings, and its price if known."""

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

    what = (("Tasks", ("dataset", "limit", "tasks", "include_base", "instrument")), ("Models", ("models", "notice")))

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
        help_text="Used for both tasks. Answers to different wordings cannot be compared.",
    )
    models = ModelChoice(queryset=ModelVariant.objects.none(), widget=forms.CheckboxSelectMultiple)
    notice = forms.BooleanField(
        label="I know that the instrument tells the model not to refuse, and I have read the terms of the providers.",
        help_text="Needed once per study. The study records who confirmed it, and when.",
        error_messages={"required": "Please confirm this before texts of this kind are sent."},
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["repeats"].help_text = (
            "How often each model gets each text under each task. The paper asked once. More repeats show how much a score "
            "varies from run to run. Each costs as much as the first."
        )
        self.fields["dataset"].queryset = Dataset.objects.filter(study=study).with_counts()  # type: ignore[attr-defined]
        variants = list_variants()
        self.fields["models"].queryset = variants  # type: ignore[attr-defined]
        self.fields["models"].prices = find_prices(variants)  # type: ignore[attr-defined]
        own = Wording.objects.filter(study=study).order_by("name").values_list("name", flat=True).distinct()
        self.fields["instrument"].choices = [  # type: ignore[attr-defined]
            *((key, WORDINGS.get(key, key)) for key in list_wordings()),
            *((name, f"{name}: this study's own wording, not comparable") for name in own),
        ]
        self.confirmed = find_notice(study)
        if self.confirmed is not None:
            del self.fields["notice"]


# A larger file would take too long to store within a request, and the whole file is held in memory.
MAX_UPLOAD_BYTES = 100_000_000


class ImportForm(forms.Form):
    """Answers from another run, and the texts that they belong to. ``checked`` is a hash of what was previewed."""

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

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        found = Dataset.objects.filter(study=study).select_related("study")
        self.fields["dataset"].queryset = found.with_counts()  # type: ignore[attr-defined]


class WordingForm(RowForm):
    """A study's own wording: the characteristics it asks for, and its text for each task."""

    based_on = forms.ChoiceField(choices=[], label="Based on", help_text="The wording to start from.")
    characteristics = forms.CharField(
        widget=forms.Textarea({"rows": 10}),
        max_length=4000,
        initial="\n".join(name.capitalize() for name in ATTRIBUTES),
        help_text="One on each line, in the order in which they are asked for. Strict counting counts only these "
        "characteristics.",
    )

    class Meta(RowForm.Meta):
        model = Wording
        fields = ("name",)

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        own = Wording.objects.filter(study=study).order_by("name").values_list("name", flat=True).distinct()
        self.fields["based_on"].choices = [(name, name) for name in (*list_wordings(), *own)]  # type: ignore[attr-defined]
        for task, label in TASKS:
            self.fields[task] = forms.CharField(
                widget=forms.Textarea({"rows": 16, "spellcheck": "false"}),
                max_length=MAX_TEXT,
                required=False,
                strip=False,
                label=f"Text, {label.lower()}",
                help_text="If empty, the text of the wording above is used, with its list of characteristics replaced.",
            )

    def clean_name(self) -> str:
        """The name. An invalid name is refused before the texts are checked."""
        name: str = self.cleaned_data["name"]
        try:
            check_name(self.study, name)
        except Refused as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def read(self, *, is_anew: bool = False) -> dict[str, Any]:
        """The arguments of ``plan_texts``, from a valid form: the characteristics as typed, one per line, and the text of each
        task. If ``is_anew``, there are no texts, because both are to be written from the list."""
        typed = self.cleaned_data
        return {
            "based_on": typed["based_on"],
            "characteristics": [line.strip() for line in typed["characteristics"].splitlines() if line.strip()],
            "texts": {} if is_anew else {task: typed[task] for task, _ in TASKS},
        }


SCOPE_WORDS = {
    Audit.Scope.FORMATTER: "interpretations by the formatter: how often are they wrong?",
    Audit.Scope.ANSWERS: "all usable answers and refusals, whoever read them: what would the score be without errors?",
}


class AuditForm(RowForm):
    """The scope, size and seed of a sample."""

    scope = forms.ChoiceField(
        label="Drawn from",
        choices=[(key.value, words) for key, words in SCOPE_WORDS.items()],
        initial=Audit.Scope.ANSWERS.value,
        widget=forms.RadioSelect,
    )
    seed = seed_field(largest=MAX_SEED, help_text="The same seed, size and interpretations give the same sample.")
    field_order = ("scope", "size", "seed")

    class Meta(RowForm.Meta):
        model = Audit
        fields = ("size",)


class MarkForm(BaseMarkForm):
    """A reviewer's own interpretation of an answer."""

    outcome = outcome_field(MARK_OUTCOMES)
    optional = ("n_attributes", "n_warranted")
    field_order = ("outcome", "n_attributes", "n_warranted", "note")

    class Meta(RowForm.Meta):
        model = AuditMark
        fields = ("n_attributes", "n_warranted", "note")

    def clean_n_attributes(self) -> int:
        return self.cleaned_data["n_attributes"] or 0

    def clean_n_warranted(self) -> int:
        return self.cleaned_data["n_warranted"] or 0
