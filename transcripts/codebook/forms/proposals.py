"""What people type about codes that are missing."""

from __future__ import annotations

from typing import Any

from django import forms

from transcripts.codebook.forms.fields import Choices, offer
from transcripts.codebook.models import CodeProposal
from transcripts.ui.fields import NumberField
from transcripts.ui.forms import OnceForm, RowForm


class ProposalForm(OnceForm, RowForm):
    """A code that is missing. The fields on the sentence are made by the page."""

    DRAFT, USE = "draft", "use"

    family = forms.ChoiceField(label="Family")
    then = forms.ChoiceField(
        label="And then",
        required=False,
        choices=[("", "propose it"), (DRAFT, "add it to the draft"), (USE, "use it now, in a new version")],
        widget=forms.RadioSelect,
    )
    sure = forms.BooleanField(required=False, widget=forms.HiddenInput)
    sentence = NumberField(required=False)

    class Meta(RowForm.Meta):
        model = CodeProposal
        fields = ("name", "definition")

    def __init__(self, *args: Any, families: Choices, may_use: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "family", families)
        if not may_use:
            del self.fields["then"]


class AnswerForm(RowForm):
    """What becomes of a proposal."""

    ACCEPT, USE, DECLINE = "accept", "use", "decline"

    verdict = forms.ChoiceField(choices=[(ACCEPT, "Add it to the draft"), (USE, "Use it now"), (DECLINE, "Decline it")])

    class Meta(RowForm.Meta):
        model = CodeProposal
        fields = ("answer",)
