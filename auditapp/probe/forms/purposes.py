from __future__ import annotations

from django import forms

from auditapp.probe.actions.purposes import NO_PURPOSE, NO_REASON
from transcripts.ui.fields import NumberField
from transcripts.ui.replacing import ReplacingForm
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON


class PurposeForm(ReplacingForm):
    """What a study runs the probe for."""

    text = forms.CharField(
        label="Purpose",
        max_length=MAX_NOTE,
        error_messages={"required": NO_PURPOSE},
        widget=forms.Textarea({"rows": 6}),
        help_text="What question the probe answers, who will read its figures, and what will not be done with them. It stands on "
        "the pages of the probe, with your name.",
    )


class WithdrawForm(forms.Form):
    """Why the purpose is withdrawn. ``number`` is that of the purpose that the page showed."""

    number = NumberField()
    reason = forms.CharField(
        max_length=MAX_REASON,
        error_messages={"required": NO_REASON},
        widget=forms.Textarea({"rows": 3}),
        help_text="It stands beside every figure of before, with your name.",
    )
