"""What people type about codes that are missing."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django import forms

from transcripts.codebook.forms.fields import Choices, line_field, offer, text_field
from transcripts.ui.fields import NumberField


class ProposalForm(forms.Form):
    """A code that is missing. The fields on the sentence are made by the page."""

    DRAFT, USE = "draft", "use"

    name = line_field("Name", required=True, help_text="In the words of the sentence, or in your own.")
    family = forms.ChoiceField(label="Family")
    definition = text_field("What it means", help_text="You can leave this empty until the code has been discussed.")
    then = forms.ChoiceField(
        label="And then",
        required=False,
        choices=[("", "propose it"), (DRAFT, "add it to the draft"), (USE, "use it now, in a new version")],
        widget=forms.RadioSelect,
    )
    sure = forms.BooleanField(required=False, widget=forms.HiddenInput)
    sentence = NumberField(required=False)
    idempotency_key = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, families: Choices, may_use: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "family", families)
        if not may_use:
            del self.fields["then"]

    def clean_idempotency_key(self) -> UUID:
        """A plain form that came without one gets one here."""
        return self.cleaned_data["idempotency_key"] or uuid4()


class AnswerForm(forms.Form):
    """What becomes of a proposal."""

    ACCEPT, USE, DECLINE = "accept", "use", "decline"

    verdict = forms.ChoiceField(choices=[(ACCEPT, "Add it to the draft"), (USE, "Use it now"), (DECLINE, "Decline it")])
    answer = text_field(
        "Answer", rows=2, help_text="The person who proposed the code sees this. Required if you decline."
    )
