"""What is confirmed before the condition of masked interviews is opened or put back."""

from __future__ import annotations

from typing import Any

from django import forms

from transcripts.ui.typed_text import MAX_REASON


class ConditionForm(forms.Form):
    """Open the condition of one masked interview for oneself."""

    confirmed = forms.BooleanField(
        label="I know that what I code in this interview from now on counts as assisted, and that this is on record.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )

    def __init__(self, data: Any = None, *, is_open: bool) -> None:
        """``is_open``: she can still code it. Where she cannot, there is nothing to confirm."""
        super().__init__(data)
        if not is_open:
            del self.fields["confirmed"]


class UnmaskForm(forms.Form):
    """Unmask interviews for everybody."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        help_text="Such as “All rounds are locked”. It is kept in the history of each interview.",
        error_messages={"required": "Say why the interviews are unmasked."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
