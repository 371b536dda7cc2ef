"""Forms for planning rounds, and for completing, returning and locking."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any, cast

from django import forms
from django.http import QueryDict

from transcripts.rounds import queries
from transcripts.rounds.models import Round
from transcripts.studies.models import Study
from transcripts.ui.forms import OnceForm, RowForm
from transcripts.ui.typed_text import MAX_REASON, find_number

NOT_KNOWN = "–"

STAY_OPEN, CLOSE = "open", "close"


class RoundForm(OnceForm, RowForm):
    """A round to plan; with ``plan_name``, the confirmation of a plan that was shown."""

    coders = forms.MultipleChoiceField(
        label="Coders",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one coder."},
    )
    models = forms.MultipleChoiceField(
        label="Models of the interviews",
        help_text="If you tick none, the round has every interview of the study.",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    interviews = forms.MultipleChoiceField(
        label="Only these interviews",
        help_text="If you tick none, the round has all of them.",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    drawn = forms.IntegerField(
        label="Draw at random",
        help_text="The number of the interviews above to include in the round, drawn with the number below. If empty, all are "
        "included.",
        required=False,
        min_value=1,
    )
    closes_others = forms.ChoiceField(
        label="Interviews outside this round",
        widget=forms.RadioSelect,
        choices=[
            (STAY_OPEN, "stay open to every coder, unless another round assigns them"),
            (CLOSE, "can be coded only by those to whom a round assigns them"),
        ],
        initial=STAY_OPEN,
        required=False,
    )
    plan_name = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)
    needed = ("idempotency_key",)
    field_order = ("name", "instructions", "coders", "models", "interviews", "drawn", "closes_others")

    class Meta(RowForm.Meta):
        model = Round
        fields = ("name", "instructions", "overlap_percent", "overlap_readers", "seed")

    def __init__(self, *args: Any, study: Study, picked: Sequence[str] = (), **kwargs: Any) -> None:
        kwargs["initial"] = {
            "overlap_percent": 20,
            "seed": secrets.randbelow(10_000),
            "interviews": list(picked),
        }
        super().__init__(*args, **kwargs)
        coders = [(str(user.pk), user.username) for user in queries.list_coders(study)]
        cast("forms.MultipleChoiceField", self.fields["coders"]).choices = coders
        labels = sorted(set(queries.read_labels(study).values()))
        # A box cannot have the empty label, so it is written as a dash.
        choices = [(label or NOT_KNOWN, label or "not known") for label in labels]
        cast("forms.MultipleChoiceField", self.fields["models"]).choices = choices
        titles = study.interviews.order_by("pk").values_list("pk", "title", "model_label")
        cast("forms.MultipleChoiceField", self.fields["interviews"]).choices = [
            (str(pk), f"{title} · {label}" if label else title) for pk, title, label in titles
        ]

    def read(self) -> dict[str, Any]:
        """The arguments of ``plan_round``, once the form is valid."""
        data = self.cleaned_data
        self.instance.closes_others = data["closes_others"] == CLOSE
        return {
            "planned": self.instance,
            "interview_ids": {int(pk) for pk in data["interviews"]},
            "drawn": data["drawn"],
            "coder_ids": {int(pk) for pk in data["coders"]},
            "models": ["" if label == NOT_KNOWN else label for label in data["models"]],
        }


class CellsForm(forms.Form):
    """The cells that a lead ticked in the table of a round, as "interview:coder", and what to do there."""

    ACTS = (("assign", "Assign"), ("unassign", "Unassign"), ("give_back", "Give back"))

    act = forms.ChoiceField(choices=ACTS)
    reason = forms.CharField(
        label="Reason (required for returning)",
        help_text="Shown to the coder and kept in the history.",
        required=False,
        max_length=MAX_REASON,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cells: list[tuple[int, int]] = []

    def clean(self) -> None:
        try:
            pairs = [value.split(":") for value in cast("QueryDict", self.data).getlist("cell")]
            self.cells = [(_read_number(interview), _read_number(coder)) for interview, coder in pairs]
        except ValueError:
            raise forms.ValidationError("These are not cells of the table. Reload the page and try again.") from None
        if not self.cells:
            raise forms.ValidationError("Tick at least one cell of the table first.")


def _read_number(text: str) -> int:
    number = find_number(text)
    if number is None:
        raise ValueError(text)
    return number


class LockForm(forms.Form):
    """Lock a round, or unlock it with a reason."""

    act = forms.ChoiceField(choices=[("lock", "Lock"), ("unlock", "Unlock")])
    confirmed = forms.BooleanField(label="Lock the round although not everything is completed", required=False)
    reason = forms.CharField(label="Why", required=False, max_length=MAX_REASON)


class CompleteForm(forms.Form):
    """A coder's confirmation that these are her codings."""

    confirmed = forms.BooleanField(
        label="I confirm that these are my codings, and that I have completed this interview.",
        error_messages={"required": "Tick the box to confirm that these are your codings."},
    )
    reason = forms.CharField(
        label="Why sentences are left undecided",
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class CompleteInterviewForm(CompleteForm):
    """A coder's confirmation that she has completed an interview."""

    confirmed = forms.BooleanField(
        label="I have completed this interview and will not code it again.",
        error_messages={"required": "Tick the box to confirm that you have completed."},
    )


class CompleteSeveralForm(CompleteForm):
    """The same for several interviews."""

    interview = forms.TypedMultipleChoiceField(
        coerce=int, error_messages={"required": "Tick the interviews to complete."}, widget=forms.MultipleHiddenInput
    )

    def __init__(self, data: Any = None, *, own: Collection[int] = (), auto_id: str = "id_%s") -> None:
        super().__init__(data, auto_id=auto_id)
        self.fields[
            "confirmed"
        ].label = "I confirm that these are my codings, and that I have completed the ticked interviews."
        cast("forms.TypedMultipleChoiceField", self.fields["interview"]).choices = [(pk, str(pk)) for pk in own]
