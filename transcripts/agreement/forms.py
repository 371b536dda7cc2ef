"""Forms for selecting readings, and for deciding about them."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.db.models import Q

from transcripts.accounts.models import User
from transcripts.agreement.actions import Outcome
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import Readings, name_letter
from transcripts.agreement.queries import Selection
from transcripts.codebook.models import CodebookVersion, CodeFamily
from transcripts.rounds.models import Assignment
from transcripts.studies.models import Study
from transcripts.ui.forms import NumberField, OnceForm, RowForm
from transcripts.ui.typed_text import MAX_REASON, MAX_SEED

USUAL_SEED = 1
NOT_KNOWN = "–"
ALL_MODELS = "*"
CELLS = (
    ("", "all that both decided"),
    ("both", "both applied it"),
    ("only_a", "only the first applied it"),
    ("only_b", "only the second applied it"),
    ("neither", "neither applied it"),
)


class SelectionForm(forms.Form):
    """A family and the selection of its readings. Sent by GET; every field is optional.

    ``is_of_figures``: single models come first and all of them together last, because figures are pooled only on request.
    """

    family = forms.ChoiceField(label="Family", required=False)
    round = forms.ChoiceField(label="Round", required=False)
    model = forms.ChoiceField(label="Model", required=False)
    coders = forms.MultipleChoiceField(label="Coders", required=False, widget=forms.CheckboxSelectMultiple)
    first_version = forms.ChoiceField(label="From version", required=False)
    last_version = forms.ChoiceField(label="To version", required=False)
    seed = forms.IntegerField(label="Seed", required=False, min_value=0, max_value=MAX_SEED)

    def __init__(self, data: Any, *, study: Study, families: list[CodeFamily], is_of_figures: bool) -> None:
        super().__init__(data)
        self.families = {family.identifier: family for family in families}
        self.rounds = {str(each.number): each for each in study.rounds.order_by("number")}
        labels = study.interviews.order_by("model_label").values_list("model_label", flat=True).distinct()
        versions = CodebookVersion.objects.filter(study=study, published_at__isnull=False).order_by("number")
        numbers = [(str(number), f"v{number}") for number in versions.values_list("number", flat=True)]
        self._choose("family", [(family.identifier, family.name) for family in families], empty=None)
        self._choose("round", [(number, each.name) for number, each in self.rounds.items()], empty="Every round")
        models = [(each or NOT_KNOWN, each or "not known") for each in labels]
        together = [(ALL_MODELS, "All models together" if is_of_figures else "Every model")]
        self._choose("model", [*models, *together] if is_of_figures else [*together, *models], empty=None)
        self._choose("coders", [(str(user.pk), user.username) for user in list_coders(study)], empty=None)
        self._choose("first_version", numbers, empty="the first")
        self._choose("last_version", numbers, empty="the latest")

    def _choose(self, name: str, choices: list[tuple[str, str]], *, empty: str | None) -> None:
        field = cast("forms.ChoiceField", self.fields[name])
        field.choices = choices if empty is None else [("", empty), *choices]

    def clean(self) -> None:
        first, last = self.cleaned_data.get("first_version"), self.cleaned_data.get("last_version")
        if first and last and int(first) > int(last):
            self.add_error("last_version", "The last version comes before the first.")

    def read(self, *, usual: CodeFamily) -> Selection:
        """The request, once the form is valid; ``usual`` is the default family."""
        data = self.cleaned_data
        model = data["model"]
        return Selection(
            family=self.families.get(data["family"], usual),
            round=self.rounds.get(data["round"]),
            model=None if model in {"", ALL_MODELS} else "" if model == NOT_KNOWN else model,
            coders=frozenset(map(int, data["coders"])),
            first_version=int(data["first_version"]) if data["first_version"] else None,
            last_version=int(data["last_version"]) if data["last_version"] else None,
        )

    @property
    def chosen_seed(self) -> int:
        seed = self.cleaned_data["seed"]
        return USUAL_SEED if seed is None else int(seed)


class UnitsForm(forms.Form):
    """A selection of the units that several coders decided: those of one code, two coders, one count."""

    code = forms.CharField(required=False, max_length=100)
    a = forms.IntegerField(required=False, min_value=1)
    b = forms.IntegerField(required=False, min_value=1)
    cell = forms.ChoiceField(required=False, choices=CELLS)


class ReasonForm(forms.Form):
    """The reason for computing a coefficient for a family that uses reflexive thematic analysis."""

    reason = forms.CharField(
        label="Reason for computing it anyway",
        help_text="The reason is kept in the history. The figures are shown once.",
        max_length=MAX_REASON,
        widget=forms.Textarea({"rows": 2}),
    )


class VerdictForm(OnceForm, RowForm):
    """The decision on a disagreement: one reading by its letter, both, neither with codes, or redefined."""

    outcome = forms.ChoiceField(label="What holds", widget=forms.RadioSelect)
    codes = forms.MultipleChoiceField(
        label="Codes of the other reading", required=False, widget=forms.CheckboxSelectMultiple
    )
    shown = forms.CharField(max_length=32, widget=forms.HiddenInput)
    revision = NumberField(min_value=0)
    needed = ("idempotency_key",)

    class Meta(RowForm.Meta):
        model = Adjudication
        fields = ("reason",)

    def __init__(self, *args: Any, readings: Readings, family: CodeFamily, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._readings = readings
        letters = [(str(coder), f"Reading {name_letter(place)}") for place, coder in enumerate(readings)]
        others = [(each.value, each.label) for each in Outcome if each != Outcome.ONE]
        both = "Both stand" if len(set(readings.values())) == 2 else "All of them stand"
        cast("forms.ChoiceField", self.fields["outcome"]).choices = [
            *letters,
            *((value, both if value == Outcome.BOTH else label) for value, label in others),
        ]
        codes = family.codes.order_by("position").values_list("identifier", "name")
        cast("forms.MultipleChoiceField", self.fields["codes"]).choices = list(codes)

    def read(self) -> dict[str, Any]:
        """The arguments for the action, once the form is valid."""
        data = self.cleaned_data
        outcome, codes = data["outcome"], data["codes"] if data["outcome"] == Outcome.NEITHER else ()
        chosen = {"outcome": Outcome.ONE, "chosen_coder": int(outcome)} if outcome.isdecimal() else {"outcome": outcome}
        return {
            **chosen,
            "codes": codes,
            **{name: data[name] for name in ("reason", "shown", "revision", "idempotency_key")},
        }


def list_coders(study: Study) -> list[User]:
    """The members of the study and everybody with an assignment in it, by name."""
    assigned = Assignment.objects.filter(round__study=study).values("coder")
    return list(User.objects.filter(Q(studies=study) | Q(pk__in=assigned)).distinct().order_by("username"))
