"""What a person makes of a suggestion."""

from __future__ import annotations

from django import forms

from transcripts.coding.models import Enactment, Level

ACTS = [("keep", "Keep"), ("leave", "Dismiss"), ("edit", "Edit"), ("undo", "Take back"), ("redo", "Do again")]


class ResponseForm(forms.Form):
    """What a person makes of a suggestion. An edit says why."""

    act = forms.ChoiceField(choices=ACTS, error_messages={"required": "Choose keep, leave or edit."})
    level = forms.ChoiceField(choices=Level.choices, required=False)
    enactment = forms.ChoiceField(choices=[("", "—"), *Enactment.choices], required=False)
    note = forms.CharField(max_length=1000, required=False)
    reason = forms.CharField(max_length=1000, required=False)

    def clean(self) -> None:
        if self.cleaned_data.get("act") == "edit" and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Say in one line why you keep it with changes.")

    def list_errors(self) -> list[str]:
        """What is wrong, whichever field it is about."""
        return [str(error) for errors in self.errors.values() for error in errors]
