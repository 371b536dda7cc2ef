from __future__ import annotations

from typing import Any

from django import forms

from auditapp.batches.forms import LaunchOptionsForm, list_variants
from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.limits import CONDITIONS, MIN_TEXTS
from auditapp.llm.models import ModelVariant
from transcripts.studies.models import Project
from transcripts.ui.forms import RowsField


def texts_field(label: str, help_text: str = "") -> forms.IntegerField:
    """How many texts of each category a condition gets; empty: it is not asked."""
    return forms.IntegerField(min_value=0, required=False, label=label, help_text=help_text)


class LaunchForm(LaunchOptionsForm):
    """The reviews, conditions, models and options of a launch."""

    what = (
        ("Reviews and conditions", ("reviews", "control primed may_abstain", "different_texts", "androgynous")),
        ("Models", ("models", "confirms_source")),
    )

    reviews = forms.ModelChoiceField(queryset=ReviewSet.objects.none(), empty_label=None)
    control = texts_field("Control", f"Texts of each category, at least {MIN_TEXTS}; empty: not asked.")
    primed = texts_field("Primed for emotion", "As in Appendix A, with emotion and style as evidence.")
    may_abstain = texts_field("May abstain", "Recommended: primed, but the model need not guess.")
    different_texts = forms.BooleanField(
        required=False,
        label="Each condition gets texts of its own",
        help_text="Otherwise all get the same ones, so that conditions can be paired.",
    )
    androgynous = forms.IntegerField(
        min_value=0, initial=0, help_text="Number of androgynous texts to add; they are not scored."
    )
    models = RowsField(
        queryset=ModelVariant.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one model."},
    )
    confirms_source = forms.BooleanField(
        required=False,
        label="The source of the reviews allows sending them to the providers of these models, and I have read their terms.",
        help_text="Not needed where every model is fake.",
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reviews"].queryset = ReviewSet.objects.filter(project=project).select_related("project")  # type: ignore[attr-defined]
        # The requests of a probe are not written to files.
        self.fields["models"].queryset = list_variants().exclude(account__provider="file")  # type: ignore[attr-defined]
        if "route" in self.fields:
            routes = self.fields["route"].choices  # type: ignore[attr-defined]
            self.fields["route"].choices = [each for each in routes if each[0] != Batch.Route.FILE]  # type: ignore[attr-defined]
        # A second answer to a text would be no further text.
        del self.fields["repeats"]

    def read(self) -> dict[str, Any]:
        """What was chosen, for ``plan_probe`` and ``launch_probe``."""
        chosen = self.cleaned_data
        return {
            "reviews": chosen["reviews"],
            "variants": list(chosen["models"]),
            "texts": {condition: chosen[condition] for condition in CONDITIONS if chosen[condition]},
            "same_texts": not chosen["different_texts"],
            "androgynous": chosen["androgynous"],
        }
