"""What a coder says before her own figures are opened with what she has finished."""

from __future__ import annotations

from django import forms

from transcripts.projects.access import MAX_ID


class FinishedForm(forms.Form):
    """``annotator``: whose figures the page shows, to come back to."""

    confirmed = forms.BooleanField(
        label="I know that I cannot take back then that these interviews are finished.",
        error_messages={"required": "Tick the box first: once the figures are opened, these interviews stay finished."},
    )
    annotator = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
