"""The forms to write a memo and to search for memos."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from transcripts.coding.models import Memo
from transcripts.retrieval.forms import check_words
from transcripts.retrieval.pure.words import MAX_LENGTH
from transcripts.themes.queries import Catalogue
from transcripts.ui.fields import NumberField
from transcripts.ui.forms import OnceForm, RowForm
from transcripts.ui.typed_text import MAX_TEXT

ANY = ("", "any")
FIRST_YEAR, LAST_YEAR = 1900, 9998


def check_year(date: datetime.date) -> None:
    """Raises ``ValidationError`` for a date outside the years that a search can name."""
    if not FIRST_YEAR <= date.year <= LAST_YEAR:
        raise ValidationError(f"Choose a date in the years {FIRST_YEAR} to {LAST_YEAR}.")


class MemoForm(OnceForm, RowForm):
    """A memo."""

    text = forms.CharField(label="Memo", max_length=MAX_TEXT, widget=forms.Textarea({"rows": 10, "dir": "auto"}))
    needed = ("idempotency_key",)

    class Meta(RowForm.Meta):
        model = Memo
        fields = ("kind",)


class MemoSearchForm(forms.Form):
    """A search of memos. Nothing has to be filled in."""

    words = forms.CharField(
        label="Words",
        required=False,
        max_length=MAX_LENGTH,
        validators=[check_words],
        widget=forms.TextInput({"type": "search", "autocomplete": "off", "dir": "auto"}),
    )
    kind = forms.ChoiceField(label="Kind", required=False, choices=[ANY, *Memo.Kind.choices])
    subject = forms.ChoiceField(label="On", required=False, choices=[("", "anything"), *Memo.Subject.choices])
    code = forms.ChoiceField(label="Code", required=False)
    author = forms.ChoiceField(label="By", required=False)
    since = forms.DateField(
        label="From", required=False, validators=[check_year], widget=forms.DateInput({"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, validators=[check_year], widget=forms.DateInput({"type": "date"})
    )
    key = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    interview = NumberField(required=False)

    def __init__(self, data: object, *, catalogue: Catalogue, authors: list[str]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        grouped = [
            (family.name, [(code.identifier, code.name) for code in codes]) for family, codes in catalogue.families
        ]
        self.fields["code"].choices = [ANY, *grouped]  # type: ignore[attr-defined]
        self.fields["author"].choices = [("", "anybody"), *((name, name) for name in authors)]  # type: ignore[attr-defined]

    def get_filters(self) -> dict[str, Any]:
        """The arguments of ``narrow_memos``: all fields but the words. The form must be valid."""
        return {name: value for name, value in self.cleaned_data.items() if name != "words"}
