"""What people send when they look at codings again, or choose and read anchors."""

from __future__ import annotations

from django import forms

from transcripts.codebook.models import Code
from transcripts.coding.models import Enactment
from transcripts.revision.actions.anchors import MAX_ANCHORS
from transcripts.ui.forms import OnceForm
from transcripts.ui.typed_text import MAX_ID, MAX_SEED


class ReReviewForm(OnceForm):
    """What becomes of one coding. ``targets`` are the codes that may take its place."""

    KEEP, MOVE, DROP = "keep", "move", "drop"
    outcome = forms.ChoiceField(choices=[(KEEP, "Keep"), (MOVE, "Move"), (DROP, "Remove")], required=False)
    codes = forms.MultipleChoiceField(required=False)
    enactment = forms.ChoiceField(choices=[("", "not stated"), *Enactment.choices], required=False)

    def __init__(self, *args: object, targets: list[Code], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.targets = {code.identifier: code for code in targets}
        self.fields["codes"].choices = [(code.identifier, code.name) for code in targets]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if not cleaned.get("outcome") and "outcome" not in self.errors:
            self.add_error("outcome", "Choose whether to keep, replace or remove the coding.")
        return cleaned

    @property
    def chosen(self) -> list[Code]:
        """The codes that were chosen."""
        return [self.targets[identifier] for identifier in self.cleaned_data["codes"]]


class DrawForm(forms.Form):
    """How many anchors to draw. About thirty make drift visible without tiring anybody (method brief, 2.2)."""

    count = forms.IntegerField(min_value=1, max_value=MAX_ANCHORS, initial=30, label="Sentences")
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, initial=1, label="Seed", help_text="The same seed draws the same sentences."
    )


class AnchorForm(forms.Form):
    """One sentence as an anchor, by its number in the database, as links from the desk carry it."""

    sentence = forms.IntegerField(min_value=1, max_value=MAX_ID, label="Sentence")


class AnchorReadingForm(OnceForm):
    """The codes somebody reads in an anchor; none of them says that none applies."""

    codes = forms.MultipleChoiceField(required=False, label="Codes")
    none_applies = forms.BooleanField(required=False)

    def __init__(self, *args: object, codes: list[Code], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["codes"].choices = [(code.identifier, code.name) for code in codes]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if cleaned.get("codes") and cleaned.get("none_applies"):
            self.add_error("codes", "Codes are chosen, and “none applies” is ticked. Clear one of the two.")
        elif not cleaned.get("codes") and not cleaned.get("none_applies") and "codes" not in self.errors:
            self.add_error("codes", "Choose the codes that apply here, or tick “none applies”.")
        return cleaned
