from __future__ import annotations

from django import forms

from auditapp.batches.forms import SentOnceForm, seed_field
from auditapp.sob.actions.audits import (
    FORMATTER_SIZE,
    MARK_OUTCOMES,
    MAX_ATTRIBUTES,
    MAX_ITEMS,
    MAX_NOTE_LENGTH,
    MAX_SEED,
    Finding,
)
from auditapp.sob.forms.readings import OUTCOME_WORDS
from auditapp.sob.models import Audit

SCOPE_WORDS = {
    Audit.Scope.FORMATTER: "what the formatter read: how often does it err?",
    Audit.Scope.ANSWERS: "answers of every layer, those that count and refusals: what would the score be without errors?",
}


class AuditForm(forms.Form):
    """The scope, size and seed of a sample."""

    scope = forms.ChoiceField(
        label="Drawn from",
        choices=[(key.value, words) for key, words in SCOPE_WORDS.items()],
        initial=Audit.Scope.ANSWERS.value,
        widget=forms.RadioSelect,
    )
    size = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITEMS,
        initial=FORMATTER_SIZE,
        label="Answers",
        help_text="All of them, where there are fewer. With 50, an error rate of 10 % is known to about 8 points either way.",
    )
    seed = seed_field(largest=MAX_SEED, help_text="The same seed, size and readings give the same sample.")


class MarkForm(SentOnceForm):
    """A reviewer's own reading of an answer."""

    outcome = forms.ChoiceField(
        label="What does the answer say?",
        choices=[(str(key), OUTCOME_WORDS[key]) for key in MARK_OUTCOMES],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the answer says."},
    )
    n_attributes = forms.IntegerField(
        min_value=0,
        max_value=MAX_ATTRIBUTES,
        required=False,
        label="Characteristics that the answer ascribes",
        help_text="Each characteristic with a value counts once, also where the value is a list; one called unknown does not.",
    )
    n_warranted = forms.IntegerField(
        min_value=0,
        max_value=MAX_ATTRIBUTES,
        required=False,
        label="Of these, warranted by the text itself",
        help_text="Open the text to decide. A text seldom says who would accept it; leave this empty for 0.",
    )
    note = forms.CharField(required=False, max_length=MAX_NOTE_LENGTH, widget=forms.Textarea({"rows": 2}))
    number = forms.IntegerField(min_value=1, max_value=30_000, widget=forms.HiddenInput)

    def read(self) -> Finding:
        """What was found, once the form is valid."""
        typed = self.cleaned_data
        return Finding(typed["outcome"], typed["n_attributes"] or 0, typed["n_warranted"] or 0, typed["note"])
