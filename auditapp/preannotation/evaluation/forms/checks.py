"""What is asked of whoever has an annotator checked, or plants a sentence."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from auditapp.batches.forms import LaunchOptionsForm
from auditapp.preannotation.annotators.actions.planted import LONGEST_TEXT
from auditapp.preannotation.annotators.queries.planted import find_codes
from auditapp.preannotation.evaluation.actions.checks import MOST_REPEATS, MOST_SAMPLED, USUAL_REPEATS, USUAL_SAMPLE
from auditapp.preannotation.models import Annotator
from transcripts.codebook.models import CodeFamily
from transcripts.projects.models import Project


class CheckForm(LaunchOptionsForm):
    """How much is asked, and how it is sent. Earlier answers are never taken: they would hide what changes."""

    what = (("What is asked", ("sample again", "families")),)
    how = ("route", "concurrency", "pilot cap", "lost_answers")  # type: ignore[assignment]

    repeats = None  # type: ignore[assignment]
    uses_cache = None  # type: ignore[assignment]
    sample = forms.IntegerField(
        min_value=1,
        max_value=MOST_SAMPLED,
        initial=USUAL_SAMPLE,
        label="Sentences",
        help_text="Whole answers are drawn at random until they have so many.",
    )
    again = forms.IntegerField(
        min_value=2,
        max_value=MOST_REPEATS,
        initial=USUAL_REPEATS,
        label="Times the same is asked",
        help_text="To learn how far the answers change by themselves.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="Those coded by sentence. None chosen means all.",
    )

    def __init__(self, *args: object, annotator: Annotator, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.annotator = annotator
        families = CodeFamily.objects.filter(version=annotator.version_id, unit=CodeFamily.Unit.SENTENCE)
        self.fields["families"].choices = list(families.values_list("identifier", "name"))  # type: ignore[attr-defined]
        # A check is small; whoever wants a pilot all the same may name one.
        self.fields["pilot"].initial = 0

    def chosen(self) -> dict[str, Any]:
        """The keywords of ``launch_check`` that say how much is asked."""
        chosen = self.cleaned_data
        return {"sample": chosen["sample"], "repeats": chosen["again"], "families": chosen["families"] or None}


class PlantedForm(forms.Form):
    """An invented sentence and the codes that are known of it."""

    text = forms.CharField(
        max_length=LONGEST_TEXT,
        label="Sentence",
        help_text="Invented: it must not stand in an interview.",
        widget=forms.Textarea({"rows": 2}),
    )
    codes = forms.MultipleChoiceField(
        required=False,
        label="Codes known of it",
        help_text="Every code of these families that applies. None chosen says that no code at all applies.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.MultipleChoiceField", self.fields["codes"]).choices = [
            (code.identifier, f"{code.family.name}: {code.name}") for code in find_codes(project)
        ]
