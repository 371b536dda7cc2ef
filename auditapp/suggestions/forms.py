"""How a coder answers a suggestion, how much is withheld, and which interviews are draft interviews."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from auditapp.annotators.models import DraftInterview, WithholdingPlan
from auditapp.suggestions.models import Response
from transcripts.coding.models import Coding
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study
from transcripts.ui.forms import RowForm

ACTS = [("accept", "Accept"), ("reject", "Reject"), ("edit", "Edit"), ("undo", "Take back"), ("redo", "Do again")]


class ResponseForm(RowForm):
    """What a person makes of a suggestion. An edit says why."""

    act = forms.ChoiceField(choices=ACTS, error_messages={"required": "Choose accept, edit or reject."})
    others: ClassVar = {Coding: ("level", "enactment", "note")}
    optional = ("level",)

    class Meta(RowForm.Meta):
        model = Response
        fields = ("reason",)

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("act") == "edit" and not self.cleaned_data.get("reason"):
            self.add_error("reason", "Give the reason for your changes in one line.")
        return self.cleaned_data

    def list_errors(self) -> list[str]:
        """What is wrong, whichever field it is about."""
        return [str(error) for errors in self.errors.values() for error in errors]


class WithholdingForm(RowForm):
    """The share of turns that never shows suggestions, for interviews drawn from now on."""

    needed = ("reason",)
    optional = ("seed",)

    class Meta(RowForm.Meta):
        model = WithholdingPlan
        fields = ("share_percent", "seed", "reason")


class DraftForm(RowForm):
    """An interview to be read as a draft, and why."""

    interview = forms.ModelChoiceField(queryset=Interview.objects.none())
    field_order = ("interview", "reason")

    class Meta(RowForm.Meta):
        model = DraftInterview
        fields = ("reason",)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        opened = DraftInterview.objects.filter(closed_at__isnull=True).values("interview")
        interviews = Interview.objects.filter(study=study).exclude(pk__in=opened)
        self.fields["interview"].queryset = interviews  # type: ignore[attr-defined]
