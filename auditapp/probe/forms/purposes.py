from __future__ import annotations

from django import forms

from auditapp.probe.actions.purposes import MAX_PURPOSE


class PurposeForm(forms.Form):
    """What a study runs the probe for."""

    text = forms.CharField(
        label="Purpose",
        max_length=MAX_PURPOSE,
        widget=forms.Textarea({"rows": 6}),
        help_text="What question the probe answers, who will read its figures, and what will not be done with them. It stands on "
        "the pages of the probe, with your name.",
    )
