"""What people say of consent, and the list of what is replaced in copies that leave the site."""

from __future__ import annotations

from typing import Any

from django import forms

from transcripts.corpus.models import Consent, RedactionList
from transcripts.corpus.pure.redacting import BadEntry, Entry, read_lines
from transcripts.history.forms import NextForm
from transcripts.ui.forms import RowForm

GIVEN, REFUSED = "given", "refused"
MAX_LIST_LENGTH = 100_000


class ConsentForm(RowForm):
    """One record for one interview or many. Which interviews is said by the boxes of the table."""

    scope = forms.ChoiceField(label="Scope", choices=[("", "Choose one"), *Consent.Scope.choices])
    given = forms.ChoiceField(
        label="Consent",
        choices=[(GIVEN, "Given: it may be done"), (REFUSED, "Not given, or withdrawn: it may not be done")],
        widget=forms.RadioSelect,
    )
    needed = ("basis",)
    field_order = ("scope", "given", "basis")

    class Meta(RowForm.Meta):
        model = Consent
        fields = ("basis",)

    @property
    def is_given(self) -> bool:
        return bool(self.cleaned_data["given"] == GIVEN)


class EntriesField(forms.CharField):
    """Entries as typed, one a line; gives a list of entries."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        try:
            return read_lines(str(value or ""))
        except BadEntry as error:
            raise forms.ValidationError(str(error)) from error

    def validate(self, value: list[Entry]) -> None:
        """No entry at all is a list too: with it redaction ends."""

    def run_validators(self, value: object) -> None:
        """Entries are checked as a whole, by the action."""


class RedactionForm(NextForm, RowForm):
    """The next list."""

    entries = EntriesField(
        label="Entries",
        required=False,
        help_text="One on each line: the text, an arrow (->) and its replacement, for example: Anna Berg -> [PERSON 1]",
        widget=forms.Textarea({"rows": 10, "dir": "auto", "spellcheck": "false"}),
    )
    needed = ("based_on",)
    field_order = ("entries", "reason")

    class Meta(RowForm.Meta):
        model = RedactionList
        fields = ("reason",)

    def clean_entries(self) -> list[Entry]:
        typed = str(self.data.get("entries", ""))
        if len(typed) > MAX_LIST_LENGTH:
            raise forms.ValidationError(f"The list has {len(typed):,} characters; the limit is {MAX_LIST_LENGTH:,}.")
        return list(self.cleaned_data["entries"])
