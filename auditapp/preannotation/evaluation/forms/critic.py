"""The forms of critics and audits, and of the figures behind them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet

from auditapp.audits.forms import BaseMarkForm
from auditapp.batches.forms import seed_field
from auditapp.preannotation.annotators.forms import SmallPilotOptions
from auditapp.preannotation.evaluation.queries.positives import list_suggested_codes
from auditapp.preannotation.models import Annotator, PositiveAudit, PositiveMark, Suggestion
from transcripts.projects.models import Project
from transcripts.ui.fields import RowsField
from transcripts.ui.forms import RowForm
from transcripts.ui.typed_text import MAX_SEED


class SuggestionsForm(forms.Form):
    """Whose suggestions are meant, of the annotators of a study that suggested something."""

    annotator = forms.ModelChoiceField(queryset=Annotator.objects.none(), empty_label=None, label="Suggestions of")

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["annotator"].queryset = list_annotators(project)  # type: ignore[attr-defined]


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

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, project=project, **kwargs)
        self.fields[
            "annotator"
        ].help_text = "All its active suggestions are checked, also those on withheld turns, which are used to measure annotators."
        self.fields["codes"].choices = list_suggested_codes(list_annotators(project))  # type: ignore[attr-defined]
        self.fields["model"].help_text = "It can be another model than the one that made the suggestions."


class DrawForm(SuggestionsForm, RowForm):
    """What an audit is drawn from, how much of it, and by which seed."""

    with_critic = forms.BooleanField(required=False, label="Leave out suggestions that a critic reversed")
    seed = seed_field(
        largest=MAX_SEED, help_text="The same seed and number, of the same suggestions, give the same sample."
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
