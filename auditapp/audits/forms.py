from __future__ import annotations

from typing import Any

from django import forms

from transcripts.ui.forms import OnceForm, RowForm


class BaseMarkForm(OnceForm, RowForm):
    """A reviewer's mark of one item; a kind of audit adds what it says. ``number`` is that of the mark the page asks for."""

    number = forms.IntegerField(min_value=1, max_value=30_000, widget=forms.HiddenInput)


class OpenResultsForm(forms.Form):
    """Somebody who could still mark opens the results."""

    confirmed = forms.BooleanField(
        label="I know that what I mark from now on is not blind.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="opening_%s")
