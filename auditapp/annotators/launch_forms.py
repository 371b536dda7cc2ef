"""The form for a launch of a model."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.annotators.actions.annotators import LATENT_NEEDS_REASON
from auditapp.annotators.forms import SmallPilotOptions
from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.prompt_codebook import list_asked_families
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Interview
from transcripts.studies.models import Project
from transcripts.ui.forms import RowsField
from transcripts.ui.typed_text import MAX_REASON


class PreannotationForm(SmallPilotOptions):
    """Which model annotates which interviews, for which families of codes, with which settings."""

    what = (
        ("Interviews and codes", ("interviews", "families")),
        ("Annotator", ("model", "mode", "reads_latent", "latent_reason", "without_schema")),
    )

    interviews = RowsField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If you choose none, all are annotated. Only interviews with consent are sent to a model outside this site.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="If you choose none, all families coded by sentence are used. Families coded by turn are used only if chosen. "
        "Each adds one call per turn of the model, or of the interviewer where its codes are for those.",
    )
    mode = forms.ChoiceField(
        choices=Annotator.Mode.choices,
        initial=Annotator.Mode.FAMILY,
        required=False,
        widget=forms.RadioSelect,
        label="One call per",
        help_text="One call per code multiplies the cost by the number of codes in a family. Use it for codes that, according "
        "to calibration, are annotated badly with one call per family.",
    )
    reads_latent = forms.BooleanField(
        required=False,
        label="Annotate latent meaning too",
        help_text="Otherwise a code is suggested only where the sentence says it outright (semantic).",
    )
    latent_reason = forms.CharField(
        required=False,
        max_length=MAX_REASON,
        label="Reason for annotating latent meaning",
        help_text="Required if the box above is ticked. Kept in the history of the study.",
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["interviews"].queryset = Interview.objects.filter(project=project)  # type: ignore[attr-defined]
        families = list_asked_families(current_version(project))
        self.fields["families"].choices = [(family.identifier, name_choice(family)) for family in families]  # type: ignore[attr-defined]

    def clean_mode(self) -> str:
        return str(self.cleaned_data["mode"] or Annotator.Mode.FAMILY)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reads_latent") and not cleaned.get("latent_reason"):
            self.add_error("latent_reason", LATENT_NEEDS_REASON)
        return cleaned


def name_choice(family: CodeFamily) -> str:
    """A family as it is chosen for a launch."""
    if family.unit != CodeFamily.Unit.TURN:
        return family.name
    is_questions = family.applies_to == CodeFamily.AppliesTo.INTERVIEWER
    return f"{family.name} ({'whole turns of the interviewer' if is_questions else 'whole turns'})"
