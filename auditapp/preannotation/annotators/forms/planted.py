"""What is asked of whoever plants a sentence."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from auditapp.preannotation.annotators.actions.planted import MAX_TEXT
from auditapp.preannotation.annotators.queries.planted import find_codes
from transcripts.projects.models import Project


class PlantedForm(forms.Form):
    """An invented sentence and the codes that are known of it."""

    text = forms.CharField(
        max_length=MAX_TEXT,
        label="Sentence",
        help_text="Invented: it must not stand in an interview.",
        widget=forms.Textarea({"rows": 2}),
    )
    codes = forms.MultipleChoiceField(
        required=False,
        label="Codes known of it",
        help_text="Every code of these families that applies. None chosen says that no code at all applies.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.MultipleChoiceField", self.fields["codes"]).choices = [
            (code.identifier, f"{code.family.name}: {code.name}") for code in find_codes(project)
        ]
