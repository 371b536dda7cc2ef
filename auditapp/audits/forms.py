from __future__ import annotations

from typing import Any

from django import forms

from auditapp.audits.actions import MAX_NOTE_LENGTH
from auditapp.batches.forms import SentOnceForm


class BaseMarkForm(SentOnceForm):
    """A reviewer's mark of one item; a kind of audit adds what it says. ``number`` is that of the mark the page asks for."""

    note = forms.CharField(required=False, max_length=MAX_NOTE_LENGTH, widget=forms.Textarea({"rows": 2}))
    number = forms.IntegerField(min_value=1, max_value=30_000, widget=forms.HiddenInput)


class OpenResultsForm(forms.Form):
    """Somebody who could still mark opens the results."""

    confirmed = forms.BooleanField(
        label="I know that what I mark from now on counts as marked with results known.",
        error_messages={"required": "Tick the box to say that you know what follows."},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="opening_%s")
