from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from auditapp.batches.forms import LaunchOptionsForm, list_variants
from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.sob.judging.actions.readings import MAX_VALUE_LENGTH, list_person_outcomes
from auditapp.sob.judging.formatter import DEFAULT_OUTCOMES, READABLE_OUTCOMES
from auditapp.sob.models import Reading
from auditapp.sob.pure.counting import name_characteristic
from auditapp.sob.pure.parsing import Outcome
from auditapp.sob.pure.verdicts import VERDICTS
from transcripts.ui.fields import NumberField
from transcripts.ui.forms import RowForm

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


def choose_outcome(task: str) -> forms.ChoiceField:
    """What an answer under a task may be found to be, one of them."""
    return forms.ChoiceField(
        label="What does the answer say?",
        choices=[(str(key), OUTCOME_WORDS[Outcome(key)]) for key in list_person_outcomes(task)],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the answer says."},
    )


class FormatterForm(LaunchOptionsForm):
    """Which answers a formatter gets, of which model, and how."""

    what = (("Answers and model", ("outcomes", "model", "without_schema")),)

    outcomes = forms.MultipleChoiceField(
        label="Answers",
        choices=[(str(key), FORMATTER_CHOICES[key]) for key in READABLE_OUTCOMES],
        initial=[str(key) for key in DEFAULT_OUTCOMES],
        widget=forms.CheckboxSelectMultiple,
        help_text="Refusals are sent only if you choose so, because the formatter's reading may remove them from the share "
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
        help_text="Otherwise the formatter's answers are held to a JSON schema, if a probe found that the model's server honours "
        "one.",
    )

    def __init__(self, *args: object, source: Batch, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.source = source
        self.fields["model"].queryset = list_variants()  # type: ignore[attr-defined]
        # An answer has one reading by a formatter at a time; another try is another batch.
        del self.fields["repeats"]


class ReadingForm(RowForm):
    """What a person reads in one answer: its outcome, and each characteristic that the answer gives."""

    number = NumberField()

    class Meta(RowForm.Meta):
        model = Reading
        fields = ("note",)

    def __init__(self, *args: object, task: str, schema: Sequence[str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.schema = list(schema)
        self.fields["outcome"] = choose_outcome(task)
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
        """The fields of the characteristics, in the order of the schema."""
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
        """The reading as typed, once the form is valid, for ``read_by_person``."""
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
