from __future__ import annotations

from django import forms

from auditapp.llm.models import ModelVariant
from transcripts.coding.models import Enactment, Level
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


class PreannotationForm(forms.Form):
    """Which model reads which interviews."""

    model = forms.ModelChoiceField(queryset=ModelVariant.objects.none(), empty_label=None)
    interviews = forms.ModelMultipleChoiceField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen means all.",
    )
    concurrency = forms.IntegerField(min_value=1, max_value=1000, initial=30, label="Calls in flight")
    cap = forms.DecimalField(
        min_value=0,
        max_digits=10,
        decimal_places=2,
        required=False,
        label="Cap in US dollars",
        help_text="No call is sent that could pass it.",
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["model"].queryset = ModelVariant.objects.all()  # type: ignore[attr-defined]
        self.fields["interviews"].queryset = Interview.objects.filter(project=project)  # type: ignore[attr-defined]


class ResponseForm(forms.Form):
    """What a person makes of a suggestion."""

    act = forms.ChoiceField(choices=[("keep", "Keep"), ("leave", "Leave"), ("edit", "Edit")])
    level = forms.ChoiceField(choices=Level.choices, required=False)
    enactment = forms.ChoiceField(choices=[("", "—"), *Enactment.choices], required=False)
    note = forms.CharField(max_length=2000, required=False)
    reason = forms.CharField(max_length=2000, required=False)
