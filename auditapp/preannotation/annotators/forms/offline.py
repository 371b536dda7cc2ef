"""What is asked of whoever has interviews read by an annotator that needs no key."""

from __future__ import annotations

from typing import cast
from uuid import uuid4

from django import forms

from auditapp.batches.forms import LaunchForm
from auditapp.preannotation.annotators.actions.offline import MAX_POSITIVES
from auditapp.preannotation.annotators.pure.learning import MIN_INTERVIEWS, MIN_POSITIVES
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project


class OfflineForm(LaunchForm):
    """By what, from how many examples, and which interviews."""

    kind = forms.ChoiceField(
        choices=[
            (Annotator.Kind.RULES.value, Annotator.Kind.RULES.label),
            (Annotator.Kind.LEARNT.value, Annotator.Kind.LEARNT.label),
        ],
        widget=forms.RadioSelect,
        label="Annotator",
    )
    minimum = forms.IntegerField(
        min_value=2,
        max_value=MAX_POSITIVES,
        initial=MIN_POSITIVES,
        label="Fewest examples to learn a code from",
        help_text=f"Sentences that have it, in at least {MIN_INTERVIEWS} interviews. Rules do not ask for this.",
    )
    interviews = forms.ModelMultipleChoiceField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen means all. What this annotator has annotated already is skipped.",
    )
    client_id = forms.UUIDField(initial=uuid4, widget=forms.HiddenInput)

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = cast("forms.ModelMultipleChoiceField[Interview]", self.fields["interviews"])
        field.queryset = Interview.objects.filter(project=project)
