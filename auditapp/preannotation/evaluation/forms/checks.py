"""The form for a check of an annotator."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.batches.forms import LaunchOptionsForm
from auditapp.preannotation.evaluation.actions.checks import MAX_REPEATS, MAX_SAMPLED, USUAL_REPEATS, USUAL_SAMPLE
from auditapp.preannotation.models import Annotator
from transcripts.codebook.models import CodeFamily


class CheckForm(LaunchOptionsForm):
    """How much is asked, and how it is sent. Earlier answers are never taken: they would hide what changes."""

    what = (("Questions", ("sample again", "families")),)
    how = ("route", "concurrency", "pilot cap", "lost_answers")  # type: ignore[assignment]

    repeats = None  # type: ignore[assignment]
    sample = forms.IntegerField(
        min_value=1,
        max_value=MAX_SAMPLED,
        initial=USUAL_SAMPLE,
        label="Sentences",
        help_text="Whole answers are drawn at random until they have this many sentences.",
    )
    again = forms.IntegerField(
        min_value=2,
        max_value=MAX_REPEATS,
        initial=USUAL_REPEATS,
        label="How often the same question is asked",
        help_text="Shows how much the answers change by chance.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="Families coded by sentence. If you choose none, all are used.",
    )

    class Meta(LaunchOptionsForm.Meta):
        fields = ("route", "concurrency")

    def __init__(self, *args: object, annotator: Annotator, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.annotator = annotator
        families = CodeFamily.objects.filter(version=annotator.version_id, unit=CodeFamily.Unit.SENTENCE)
        self.fields["families"].choices = list(families.values_list("identifier", "name"))  # type: ignore[attr-defined]
        # A check is small and needs no pilot, but one may be named.
        self.fields["pilot"].initial = 0

    def chosen(self) -> dict[str, Any]:
        """The keywords of ``launch_check`` that say how much is asked."""
        chosen = self.cleaned_data
        return {"sample": chosen["sample"], "repeats": chosen["again"], "families": chosen["families"] or None}
