"""Which part of an annotator's work is compared, and what people decide about it; checks, critics and audits."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from auditapp.annotators.forms import SmallPilotOptions
from auditapp.annotators.models import Annotator, CodeChoice, Suggestion
from auditapp.audits.views import BaseMarkForm
from auditapp.batches.forms import LaunchOptionsForm, seed_field
from auditapp.evaluation.actions import MAX_REPEATS, MAX_SAMPLED, USUAL_REPEATS, USUAL_SAMPLE
from auditapp.evaluation.models import Disagreement, PositiveAudit, PositiveMark
from auditapp.evaluation.queries.positives import list_suggested_codes
from transcripts.codebook.models import CodeFamily
from transcripts.studies.models import Study
from transcripts.ui.forms import NumberField, RowForm, RowsField
from transcripts.ui.typed_text import MAX_ID, MAX_SEED

USUAL_SEED = 1
USUAL_THRESHOLD = 0.6


class CalibrationForm(forms.Form):
    """One annotator, and which of its labels are compared. Sent by GET; no field is required."""

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
        choices=[("", "the annotator’s original suggestions"), ("with", "without suggestions that a critic rejected")],
    )
    seed = forms.IntegerField(label="Seed", required=False, min_value=0, max_value=MAX_SEED)

    def __init__(self, data: Any, *, annotators: list[Annotator]) -> None:
        super().__init__(data)
        self.by_number = {str(each.pk): each for each in annotators}
        choices = [(number, f"{each} · codebook {each.version}") for number, each in self.by_number.items()]
        cast("forms.ChoiceField", self.fields["annotator"]).choices = choices

    @property
    def chosen(self) -> Annotator | None:
        """The annotator that was named, or else the newest one that has annotated anything."""
        named = self.cleaned_data.get("annotator", "")
        return self.by_number.get(named) or next(iter(self.by_number.values()), None)

    @property
    def chosen_seed(self) -> int:
        seed = self.cleaned_data.get("seed")
        return USUAL_SEED if seed is None else int(seed)


class CellForm(forms.Form):
    """Which sentences to show: those of one code and one count."""

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
    """The threshold of F1 or kappa below which a code is highlighted."""

    threshold = forms.FloatField(label="Threshold of F1 and kappa", required=False, min_value=0, max_value=1)

    @property
    def chosen(self) -> float:
        if not self.is_valid() or self.cleaned_data["threshold"] is None:
            return USUAL_THRESHOLD
        return float(self.cleaned_data["threshold"])


class CompletedForm(forms.Form):
    """``annotator``: whose figures the page shows, so that it can be shown again."""

    confirmed = forms.BooleanField(
        label="I know that I cannot reopen these interviews afterwards.",
        error_messages={
            "required": "Tick the box first. Once you have opened the figures, you can no longer reopen these interviews."
        },
    )
    annotator = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)


class CheckForm(LaunchOptionsForm):
    """How much is asked, and how it is sent. Earlier answers are never reused, because they would hide changes."""

    what = (("Questions", ("sample again", "families")),)
    how = ("route", "concurrency", "pilot cap", "lost_answers")  # type: ignore[assignment]

    repeats = None  # type: ignore[assignment]
    sample = forms.IntegerField(
        min_value=1,
        max_value=MAX_SAMPLED,
        initial=USUAL_SAMPLE,
        label="Sentences",
        help_text="Whole answers are drawn at random until they contain this many sentences.",
    )
    again = forms.IntegerField(
        min_value=2,
        max_value=MAX_REPEATS,
        initial=USUAL_REPEATS,
        label="Number of times each question is asked",
        help_text="Shows how much the answers change by chance.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="Families coded by sentence. If you choose none, all are used.",
    )

    class Meta(LaunchOptionsForm.Meta):
        fields = ("route", "concurrency")

    def __init__(self, *args: object, annotator: Annotator, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.annotator = annotator
        families = CodeFamily.objects.filter(version=annotator.version_id, unit=CodeFamily.Unit.SENTENCE)
        self.fields["families"].choices = list(families.values_list("identifier", "name"))  # type: ignore[attr-defined]
        # A check is small and needs no pilot, but one may be named.
        self.fields["pilot"].initial = 0

    def chosen(self) -> dict[str, Any]:
        """The arguments of ``launch_check`` that say how much is asked."""
        chosen = self.cleaned_data
        return {"sample": chosen["sample"], "repeats": chosen["again"], "families": chosen["families"] or None}


class SuggestionsForm(forms.Form):
    """Which annotator's suggestions are used, out of the annotators of a study that have suggested something."""

    annotator = forms.ModelChoiceField(queryset=Annotator.objects.none(), empty_label=None, label="Suggestions of")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["annotator"].queryset = list_annotators(study)  # type: ignore[attr-defined]


class CriticForm(SuggestionsForm, SmallPilotOptions):
    """Which critic tests which suggestions, and how."""

    what = (("Suggestions to test", ("annotator", "codes", "again")), ("Critic", ("model", "without_schema")))

    codes = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="If you choose none, all are used."
    )
    again = forms.BooleanField(
        required=False,
        label="Test suggestions again that this model has already tested",
        help_text="If a suggestion has several verdicts, the latest counts. All are kept.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        every = "All its active suggestions are checked, including those on withheld turns, which are used to measure annotators."
        self.fields["annotator"].help_text = every
        self.fields["codes"].choices = list_suggested_codes(list_annotators(study))  # type: ignore[attr-defined]
        self.fields["model"].help_text = "It can be a different model from the one that made the suggestions."


class DrawForm(SuggestionsForm, RowForm):
    """The suggestions from which an audit is drawn, how many, and the seed."""

    with_critic = forms.BooleanField(required=False, label="Leave out suggestions that a critic rejected")
    seed = seed_field(
        largest=MAX_SEED, help_text="The same seed and number give the same sample of the same suggestions."
    )
    field_order = ("annotator", "per_code", "with_critic", "seed")

    class Meta(RowForm.Meta):
        model = PositiveAudit
        fields = ("per_code",)


class MarkForm(BaseMarkForm):
    """A reviewer's own verdict on one item."""

    radios = ("verdict",)
    field_order = ("verdict", "note")

    class Meta(RowForm.Meta):
        model = PositiveMark
        fields = ("verdict", "note")


class RejectionChoice(forms.Form):
    """Which annotator's figures, and which of their sentences. An invalid value does not restrict the list."""

    annotator = forms.ModelChoiceField(queryset=Annotator.objects.none(), required=False, empty_label=None)
    code = forms.CharField(required=False, max_length=100)
    verdict = forms.ChoiceField(choices=[("rejected", "rejected"), ("upheld", "upheld")], required=False)

    def __init__(self, *args: Any, annotators: list[Annotator], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keys = [each.pk for each in annotators]
        self.fields["annotator"].queryset = Annotator.objects.filter(pk__in=keys)  # type: ignore[attr-defined]


class SpreadForm(forms.Form):
    """Which annotators are compared: all that annotated with the same version of the codebook, unless some are named."""

    annotators = RowsField(
        queryset=Annotator.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If you choose none, all are used.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["annotators"].queryset = Annotator.objects.filter(study=study)  # type: ignore[attr-defined]


def list_annotators(study: Study) -> QuerySet[Annotator]:
    """The annotators of a study that suggested something, newest first."""
    own = Suggestion.objects.filter(annotator=OuterRef("pk"))
    found = Annotator.objects.filter(Exists(own), study=study)
    return found.select_related("variant__account", "version").order_by("-pk")
