"""How a coder answers a suggestion, how much is withheld, and which interviews are draft interviews."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.preannotation.models import DraftReading
from transcripts.coding.models import MAX_NOTE_LENGTH, Enactment, Level
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project
from transcripts.ui.typed_text import MAX_REASON, MAX_SEED

ACTS = [("keep", "Keep"), ("leave", "Dismiss"), ("edit", "Edit"), ("undo", "Take back"), ("redo", "Do again")]


class ResponseForm(forms.Form):
    """What a person makes of a suggestion. An edit says why."""

    act = forms.ChoiceField(choices=ACTS, error_messages={"required": "Choose keep, edit or dismiss."})
    level = forms.ChoiceField(choices=Level.choices, required=False)
    enactment = forms.ChoiceField(choices=[("", "not stated"), *Enactment.choices], required=False)
    note = forms.CharField(max_length=MAX_NOTE_LENGTH, required=False)
    reason = forms.CharField(max_length=MAX_REASON, required=False)

    def clean(self) -> None:
        if self.cleaned_data.get("act") == "edit" and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Say in one line why you keep it with changes.")

    def list_errors(self) -> list[str]:
        """What is wrong, whichever field it is about."""
        return [str(error) for errors in self.errors.values() for error in errors]


class WithholdingForm(forms.Form):
    """The share of turns that never shows suggestions, for interviews drawn from now on."""

    share_percent = forms.IntegerField(
        label="Share of turns withheld, in per cent",
        min_value=0,
        max_value=100,
        help_text="The default is 20. At 0, neither the influence of suggestions nor agreement with uninfluenced people can "
        "be measured.",
    )
    seed = forms.IntegerField(
        required=False, min_value=0, max_value=MAX_SEED, help_text="A whole number. If empty, one is drawn."
    )
    reason = forms.CharField(max_length=MAX_REASON, help_text="One line, shown with the plan.")


class DraftForm(forms.Form):
    """An interview to be read as a draft, and why."""

    interview = forms.ModelChoiceField(queryset=Interview.objects.none())
    reason = forms.CharField(
        max_length=MAX_REASON,
        help_text="One line. What is coded there after opening a suggestion is left out of every measure.",
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        opened = DraftReading.objects.filter(closed_at__isnull=True).values("interview")
        interviews = Interview.objects.filter(project=project).exclude(pk__in=opened)
        self.fields["interview"].queryset = interviews  # type: ignore[attr-defined]
