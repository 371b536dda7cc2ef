from __future__ import annotations

from django import forms

from auditapp.batches.forms import LaunchOptions, list_variants
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Enactment, Level
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


class PreannotationForm(LaunchOptions):
    """Which model reads which interviews, for which families of codes, and how."""

    what = (("What is read", ("interviews", "families")), ("By which model", ("model",)))

    # A second reading by the same annotator would stand beside the first one as if it were another's.
    repeats = None  # type: ignore[assignment]
    model = forms.ModelChoiceField(queryset=ModelVariant.objects.none(), empty_label=None)
    interviews = forms.ModelMultipleChoiceField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen means all.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="One call per answer and family. None chosen means all.",
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].queryset = list_variants()  # type: ignore[attr-defined]
        self.fields["interviews"].queryset = Interview.objects.filter(project=project)  # type: ignore[attr-defined]
        families = CodeFamily.objects.filter(version=current_version(project), unit=CodeFamily.Unit.SENTENCE)
        self.fields["families"].choices = list(families.values_list("identifier", "name"))  # type: ignore[attr-defined]


class ResponseForm(forms.Form):
    """What a person makes of a suggestion."""

    act = forms.ChoiceField(choices=[("keep", "Keep"), ("leave", "Leave"), ("edit", "Edit")])
    level = forms.ChoiceField(choices=Level.choices, required=False)
    enactment = forms.ChoiceField(choices=[("", "—"), *Enactment.choices], required=False)
    note = forms.CharField(max_length=2000, required=False)
    reason = forms.CharField(max_length=2000, required=False)
