from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from auditapp.batches.forms import LaunchOptionsForm, list_variants, seed_field
from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.actions import NO_REASON
from auditapp.benchmarks.gender_cues.models import MAX_SEED, Purpose, ReviewSet
from auditapp.benchmarks.gender_cues.pure.parsing import CONDITIONS, MIN_TEXTS
from auditapp.benchmarks.gender_cues.pure.reviews import Rules, RulesRefused, read_rules
from auditapp.benchmarks.gender_cues.pure.tables import AXES
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.history.views import NextForm
from transcripts.studies.models import Study
from transcripts.studies.roles import ROLES, Permission
from transcripts.ui.forms import NumberField, RowForm, RowsField, limit_size
from transcripts.ui.typed_text import MAX_REASON


class PurposeForm(NextForm, RowForm):
    """What a study runs the probe for."""

    class Meta(RowForm.Meta):
        model = Purpose
        fields = ("text",)


class WithdrawForm(forms.Form):
    """Why the purpose is withdrawn. ``number`` is that of the purpose that the page showed."""

    number = NumberField()
    reason = forms.CharField(
        max_length=MAX_REASON,
        error_messages={"required": NO_REASON},
        widget=forms.Textarea({"rows": 3}),
        help_text="It is shown with every earlier figure, together with your name.",
    )


# Reading a larger file takes longer than a page should be waited for.
MAX_UPLOAD_BYTES = 50_000_000
EXAMPLE = {
    "name": "negative reviews with words of disrespect",
    "steps": [
        {"name": "at least 50 words", "rule": "length", "unit": "words", "at_least": 50},
        {"name": "one star", "rule": "equals", "column": "rating", "value": "1"},
        {"name": "disrespect", "rule": "contains", "terms": ["rude*", "condescend*", "disrespect*"]},
        {
            "name": "no kinship or partner terms",
            "rule": "excludes",
            "terms": ["mother", "father", "son", "daughter", "wife", "husband", "girlfriend", "boyfriend"],
        },
    ],
}


class LoadForm(RowForm):
    """A file of reviews, the rules that filter it, and where it is from."""

    file = forms.FileField(
        label="File of reviews",
        help_text="CSV in UTF-8 with the columns text and name_inferred_category (woman, man, androgynous, unknown). A file with a "
        "column of names is refused.",
        validators=[limit_size(MAX_UPLOAD_BYTES, "Load a larger one with `manage.py probe winnow --into`.")],
    )
    rules = forms.CharField(
        widget=forms.Textarea({"rows": 14, "spellcheck": "false"}),
        initial=json.dumps(EXAMPLE, indent=1),
        help_text="The rules, which are applied in order; this is an example. length (unit words or characters, at_least, "
        "at_most), equals (column, value), contains and excludes (terms; * for any ending). Only texts that they keep "
        "are stored.",
    )
    seed = seed_field(largest=MAX_SEED, help_text="With the same seed the same reviews are drawn again.")
    field_order = ("name", "file", "category_method", "source")

    class Meta(RowForm.Meta):
        model = ReviewSet
        fields = ("name", "category_method", "source")

    def clean_rules(self) -> Rules:
        try:
            return read_rules(self.cleaned_data["rules"])
        except RulesRefused as error:
            raise ValidationError(str(error)) from error


def texts_field(label: str, help_text: str = "") -> forms.IntegerField:
    """How many texts of each category a condition gets; empty: the condition is left out."""
    return forms.IntegerField(min_value=0, required=False, label=label, help_text=help_text)


class LaunchForm(LaunchOptionsForm):
    """The reviews, conditions, models and options of a launch."""

    what = (
        ("Reviews and conditions", ("reviews", "control primed may_abstain", "different_texts", "androgynous")),
        ("Models", ("models", "confirms_source")),
    )

    reviews = forms.ModelChoiceField(queryset=ReviewSet.objects.none(), empty_label=None)
    control = texts_field("Control", f"Texts of each category, at least {MIN_TEXTS}; empty: the condition is left out.")
    primed = texts_field("Primed for emotion", "As in Appendix A, with emotion and style as evidence.")
    may_abstain = texts_field("May abstain", "Recommended: primed, but the model need not guess.")
    different_texts = forms.BooleanField(
        required=False,
        label="Each condition gets its own texts",
        help_text="Otherwise all conditions get the same texts, so that they can be paired.",
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
        label="The source of the reviews permits sending them to the providers of these models, and I have read the providers' "
        "terms.",
        help_text="Not needed if every model is fake.",
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reviews"].queryset = ReviewSet.objects.filter(study=study).select_related("study")  # type: ignore[attr-defined]
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


BATCHES_OFFERED = 100


class ReportForm(forms.Form):
    """With which other probe this one is compared; by what Table 2 counts, and whose codings it is made of."""

    axis = forms.ChoiceField(
        label="Table 2 by",
        required=False,
        choices=[(AXES[0], "name-inferred category"), (AXES[1], "the model's prediction")],
    )
    coder = forms.ChoiceField(label="Codings of", required=False)

    def __init__(self, data: object, counts: Mapping[str, int], *, has_themes: bool, others: QuerySet[Batch]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        offered = [(str(each.pk), f"{each.pk} · {each.title}") for each in others[:BATCHES_OFFERED]]
        if offered:
            self.fields["with"] = forms.ChoiceField(
                label="Compare with", required=False, choices=[("", "this probe itself"), *offered]
            )
        if not has_themes:
            del self.fields["axis"]
        if counts:
            self.fields["coder"].choices = [(who, f"{who} ({count})") for who, count in counts.items()]  # type: ignore[attr-defined]
        else:
            del self.fields["coder"]


class RationalesForm(forms.Form):
    """The study in which rationales are coded."""

    into = forms.ModelChoiceField(
        queryset=Study.objects.none(),
        label="Study",
        to_field_name="slug",
        empty_label=None,
        help_text="A separate study of which you are a lead or an owner. People who code there should not read this report "
        "first.",
    )
    seed = seed_field(largest=MAX_SEED, help_text="Of the order of the rationales.")

    def __init__(self, *args: object, study: Study, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        roles = [key for key, role in ROLES.items() if Permission.IMPORT in role.permissions]
        own = Study.objects.filter(memberships__user=user, memberships__role__in=roles).exclude(pk=study.pk)
        self.fields["into"].queryset = own.order_by("name")  # type: ignore[attr-defined]
