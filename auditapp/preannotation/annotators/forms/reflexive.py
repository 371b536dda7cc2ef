"""Why figures are computed for a family that is read reflexively."""

from __future__ import annotations

from django import forms

from auditapp.preannotation.annotators.actions.reflexive import MAX_REASON


class FamilyReasonForm(forms.Form):
    """Why figures are computed for a family that is read reflexively."""

    family = forms.CharField(max_length=100, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Why they are computed all the same",
        help_text="The reason goes into the history. The figures are shown once.",
        max_length=MAX_REASON,
        widget=forms.Textarea({"rows": 2}),
    )
