from __future__ import annotations

from django import forms

from auditapp.benchmarks.gender_cues.actions.purposes import NO_REASON
from auditapp.benchmarks.gender_cues.models import Purpose
from transcripts.history.forms import NextForm
from transcripts.ui.forms import NumberField, RowForm
from transcripts.ui.typed_text import MAX_REASON


class PurposeForm(NextForm, RowForm):
    """What a study runs the probe for."""

    class Meta(RowForm.Meta):
        model = Purpose
        fields = ("text",)


class WithdrawForm(forms.Form):
    """Why the purpose is withdrawn. ``number`` is that of the purpose that the page showed."""

    number = NumberField()
    reason = forms.CharField(
        max_length=MAX_REASON,
        error_messages={"required": NO_REASON},
        widget=forms.Textarea({"rows": 3}),
        help_text="It is shown with every earlier figure, with your name.",
    )
