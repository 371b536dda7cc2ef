"""What part of an annotator's work is compared, and what people decide about it."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from auditapp.preannotation.models import Annotator, CodeChoice, Disagreement
from transcripts.ui.fields import NumberField
from transcripts.ui.forms import RowForm
from transcripts.ui.typed_text import MAX_ID, MAX_SEED

USUAL_SEED = 1
USUAL_THRESHOLD = 0.6


class CalibrationForm(forms.Form):
    """One annotator, and which of its readings are compared. Sent by GET; nothing in it is needed."""

    annotator = forms.ChoiceField(
        label="Annotator",
        required=False,
        error_messages={
            "invalid_choice": "This annotator has not annotated anything in this study yet. Choose another."
        },
    )
    turns = forms.ChoiceField(
        label="Compared on",
        required=False,
        choices=[("", "every blind label"), ("withheld", "withheld turns only")],
    )
    critic = forms.ChoiceField(
        label="Suggestions",
        required=False,
        choices=[("", "the annotator’s original suggestions"), ("with", "without suggestions that a critic reversed")],
    )
    seed = forms.IntegerField(label="Seed", required=False, min_value=0, max_value=MAX_SEED)

    def __init__(self, data: Any, *, annotators: list[Annotator]) -> None:
        super().__init__(data)
        self.by_number = {str(each.pk): each for each in annotators}
        choices = [(number, f"{each} · codebook {each.version}") for number, each in self.by_number.items()]
        cast("forms.ChoiceField", self.fields["annotator"]).choices = choices

    @property
    def chosen(self) -> Annotator | None:
        """The annotator that was named, or else the newest one that has read."""
        named = self.cleaned_data.get("annotator", "")
        return self.by_number.get(named) or next(iter(self.by_number.values()), None)

    @property
    def chosen_seed(self) -> int:
        seed = self.cleaned_data.get("seed")
        return USUAL_SEED if seed is None else int(seed)


class CellForm(forms.Form):
    """Which sentences: those of one code and one count."""

    code = forms.CharField(required=False, max_length=100)
    cell = forms.ChoiceField(
        required=False,
        choices=[
            ("", "all that are compared"),
            ("tp", "the machine and a person applied it"),
            ("fp", "only the machine applied it"),
            ("fn", "only a person applied it"),
            ("tn", "neither applied it"),
        ],
    )


class DisagreementForm(RowForm):
    """Why a machine and people differ on a code of a sentence."""

    annotator = NumberField()
    sentence = NumberField()
    code = forms.CharField(max_length=100, widget=forms.HiddenInput)
    replaces = NumberField(required=False)
    radios = ("category",)

    class Meta(RowForm.Meta):
        model = Disagreement
        fields = ("category", "note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].widget.attrs["data-key"] = "n"


class FilterForm(forms.Form):
    """Which differences are listed."""

    code = forms.ChoiceField(label="Code", required=False)
    state = forms.ChoiceField(
        label="Which",
        required=False,
        choices=[("", "all"), ("open", "not sorted yet"), *Disagreement.Category.choices],
    )

    def __init__(self, data: Any, *, codes: list[tuple[str, str]]) -> None:
        super().__init__(data)
        cast("forms.ChoiceField", self.fields["code"]).choices = [("", "Every code"), *codes]


class ChoiceForm(RowForm):
    """The annotator chosen for a code, and why."""

    code = forms.CharField(max_length=100, widget=forms.HiddenInput)
    candidate = forms.ChoiceField(label="Choose", widget=forms.RadioSelect)
    needed = ("reason",)

    class Meta(RowForm.Meta):
        model = CodeChoice
        fields = ("reason",)

    def __init__(self, *args: Any, candidates: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ChoiceField", self.fields["candidate"]).choices = [*candidates, ("people", "people only")]


class ThresholdForm(forms.Form):
    """Below which F1 or kappa a code is pointed out."""

    threshold = forms.FloatField(label="Threshold of F1 and kappa", required=False, min_value=0, max_value=1)

    @property
    def chosen(self) -> float:
        if not self.is_valid() or self.cleaned_data["threshold"] is None:
            return USUAL_THRESHOLD
        return float(self.cleaned_data["threshold"])


class FinishedForm(forms.Form):
    """``annotator``: whose figures the page shows, to come back to."""

    confirmed = forms.BooleanField(
        label="I know that I cannot reopen these interviews afterwards.",
        error_messages={
            "required": "Tick the box first. Once you have opened the figures, these interviews stay finished."
        },
    )
    annotator = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
