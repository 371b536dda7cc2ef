"""Normative stances, and scores given without the desk. What fits together is checked by the actions."""

from __future__ import annotations

import re
from typing import Any, cast

from django import forms

from transcripts.coding.models import MAX_NOTE_LENGTH
from transcripts.history.forms import NextForm
from transcripts.negotiation.models import Score, Stance
from transcripts.ui.forms import NumberField, OnceForm, RowForm, make_text_field

MAX_EVIDENCE_LENGTH = 500
MAX_RANGE = 50
WITHOUT = "none"
GRADES = [("0", "0 not at all"), ("1", "1 in part"), ("2", "2 mostly"), ("3", "3 fully"), (WITHOUT, "not applicable")]
ANSWERS = [("1", "yes"), ("0", "no"), (WITHOUT, "unclear")]
NUMBER = re.compile(r"(\d{1,9})([a-z]*)")
RANGE = re.compile(r"(\d{1,9})\s*[-–]\s*(\d{1,9})")


class WrongNumbers(ValueError):
    """What was typed names no sentences; a sentence for the person."""


def read_sentence_numbers(text: str) -> list[str]:
    """The labels of sentences in "14, 16-18 20a": numbers, ranges and pieces of a split. Raises ``WrongNumbers``."""
    labels: list[str] = []
    for part in re.split(r"[,;\s]+", re.sub(r"\s*[-–]\s*", "-", text.strip())):
        if not part:
            continue
        if found := RANGE.fullmatch(part):
            first, last = int(found[1]), int(found[2])
            if not first <= last < first + MAX_RANGE:
                raise WrongNumbers(
                    f"{part} is no range of sentences. Write the smaller number first, and {MAX_RANGE} at most."
                )
            labels += [str(number) for number in range(first, last + 1)]
        elif found := NUMBER.fullmatch(part):
            labels.append(f"{int(found[1])}{found[2]}")
        else:
            raise WrongNumbers(f"{part!r} is no number of a sentence. Write numbers as the desk shows them: 14, 16-18.")
    return list(dict.fromkeys(labels))


class StanceForm(NextForm, RowForm):
    """A normative stance that is new."""

    class Meta(RowForm.Meta):
        model = Stance
        fields = ("name", *Stance.texts, "author")


class NextStanceForm(StanceForm):
    """The next number of a stance that is there."""

    needed = ("reason",)

    class Meta(StanceForm.Meta):
        fields = (*Stance.texts, "author", "reason")


class ScoreForm(OnceForm):
    """One score of a thread, or one determination in it. ``turn`` is the number of a row."""

    value = forms.ChoiceField(label="Score", widget=forms.RadioSelect, error_messages={"required": "Choose one."})
    evidence = forms.CharField(
        label="Evidence",
        required=False,
        max_length=MAX_EVIDENCE_LENGTH,
        help_text="Numbers of sentences, as the desk shows them: 14, 16-18.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    above = forms.CharField(
        label="Evidence before this thread",
        required=False,
        max_length=MAX_EVIDENCE_LENGTH,
        help_text="Numbers of sentences of the thread that this one hangs on.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    note = make_text_field("Note", rows=2, max_length=MAX_NOTE_LENGTH)
    stance = NumberField()
    criterion = forms.ChoiceField(choices=Score.Criterion.choices, widget=forms.HiddenInput)
    turn = NumberField(required=False)
    feature = forms.CharField(max_length=100, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, is_graded: bool, hangs: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["idempotency_key"].required = True
        value = cast("forms.ChoiceField", self.fields["value"])
        value.choices = GRADES if is_graded else ANSWERS
        if not is_graded:
            value.label = "Answer"
        given, other = ("with a score", "without a score") if is_graded else ("with yes or no", "with unclear")
        self.fields["evidence"].needed_when = f"needed {given}{', here or below' if hangs else ''}"  # type: ignore[attr-defined]
        self.fields["note"].needed_when = f"needed {other}"  # type: ignore[attr-defined]
        if not hangs:
            del self.fields["above"]

    def clean_evidence(self) -> list[str]:
        return self._read("evidence")

    def clean_above(self) -> list[str]:
        return self._read("above")

    @property
    def given_value(self) -> int | None:
        value = self.cleaned_data["value"]
        return None if value == WITHOUT else int(value)

    def _read(self, field: str) -> list[str]:
        try:
            return read_sentence_numbers(self.cleaned_data[field])
        except WrongNumbers as error:
            raise forms.ValidationError(str(error)) from error
