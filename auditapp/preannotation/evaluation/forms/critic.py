"""The forms of critics and audits, and of the figures behind them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from auditapp.audits.forms import BaseMarkForm
from auditapp.batches.forms import list_variants, seed_field
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.annotators.forms import SmallPilotOptions
from auditapp.preannotation.evaluation.actions.audits import MAX_PER_CODE, USUAL_PER_CODE
from auditapp.preannotation.evaluation.queries.positives import list_suggested_codes
from auditapp.preannotation.models import Annotator, PositiveMark, Suggestion
from transcripts.projects.models import Project
from transcripts.ui.fields import RowsField
from transcripts.ui.typed_text import MAX_SEED


class CriticForm(SmallPilotOptions):
    """Which critic tests which suggestions, and how."""

    what = (("Suggestions to test", ("annotator", "codes", "again")), ("Critic", ("model", "without_schema")))

    # A second answer to the same question would look like that of another critic.
    repeats = None  # type: ignore[assignment]
    annotator = forms.ModelChoiceField(
        queryset=Annotator.objects.none(),
        empty_label=None,
        label="Suggestions of",
        help_text="All its active suggestions are checked, also those on withheld turns, which are used to measure annotators.",
    )
    codes = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="If you choose none, all are used."
    )
    again = forms.BooleanField(
        required=False,
        label="Test suggestions again that this model has already tested",
        help_text="If a suggestion has several verdicts, the latest counts. All are kept.",
    )
    model = forms.ModelChoiceField(
        queryset=ModelVariant.objects.none(),
        empty_label=None,
        help_text="It can be another model than the one that made the suggestions.",
    )
    without_schema = forms.BooleanField(
        required=False,
        label="Ask without structured answers",
        help_text="Otherwise answers are held to a JSON schema, if a probe found that the model's server honours one. The same "
        "model with a schema and without one are two critics.",
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        annotators = list_annotators(project)
        self.fields["annotator"].queryset = annotators  # type: ignore[attr-defined]
        self.fields["codes"].choices = list_suggested_codes(annotators)  # type: ignore[attr-defined]
        self.fields["model"].queryset = list_variants()  # type: ignore[attr-defined]


class DrawForm(forms.Form):
    """What an audit is drawn from, how much of it, and by which seed."""

    annotator = forms.ModelChoiceField(queryset=Annotator.objects.none(), empty_label=None, label="Suggestions of")
    per_code = forms.IntegerField(
        min_value=1,
        max_value=MAX_PER_CODE,
        initial=USUAL_PER_CODE,
        label="Suggestions of each code",
        help_text="If there are fewer, all are drawn. With 60, a rate of 20 % is known to within about 10 percentage points.",
    )
    with_critic = forms.BooleanField(required=False, label="Leave out suggestions that a critic reversed")
    seed = seed_field(
        largest=MAX_SEED, help_text="The same seed and number, of the same suggestions, give the same sample."
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["annotator"].queryset = list_annotators(project)  # type: ignore[attr-defined]


class MarkForm(BaseMarkForm):
    """A reviewer's own verdict on one item."""

    verdict = forms.ChoiceField(
        label="Does the code apply to the sentence?",
        choices=PositiveMark.Verdict.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose whether the code applies, does not, or cannot be said."},
    )
    field_order = ("verdict", "note")


class ReversalChoice(forms.Form):
    """Which annotator's figures, and which sentences behind them. What does not fit narrows nothing."""

    annotator = forms.ModelChoiceField(queryset=Annotator.objects.none(), required=False, empty_label=None)
    code = forms.CharField(required=False, max_length=100)
    verdict = forms.ChoiceField(choices=[("reversed", "reversed"), ("upheld", "upheld")], required=False)

    def __init__(self, *args: Any, annotators: list[Annotator], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keys = [each.pk for each in annotators]
        self.fields["annotator"].queryset = Annotator.objects.filter(pk__in=keys)  # type: ignore[attr-defined]


class SpreadForm(forms.Form):
    """Which annotators are laid side by side: all that read with one version of the codebook, unless some are named."""

    annotators = RowsField(
        queryset=Annotator.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If you choose none, all are used.",
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["annotators"].queryset = Annotator.objects.filter(project=project)  # type: ignore[attr-defined]


def list_annotators(project: Project) -> QuerySet[Annotator]:
    """The annotators of a study that suggested something, newest first."""
    own = Suggestion.objects.filter(annotator=OuterRef("pk"))
    found = Annotator.objects.filter(Exists(own), project=project)
    return found.select_related("variant__account", "version").order_by("-pk")
