from __future__ import annotations

from django import forms

from auditapp.audits.forms import BaseMarkForm
from auditapp.batches.forms import seed_field
from auditapp.sob.audits.actions import FORMATTER_SIZE, MARK_OUTCOMES, MAX_ATTRIBUTES, MAX_ITEMS
from auditapp.sob.judging.forms.readings import OUTCOME_WORDS
from auditapp.sob.models import Audit
from transcripts.ui.typed_text import MAX_SEED

SCOPE_WORDS = {
    Audit.Scope.FORMATTER: "readings by the formatter: how often are they wrong?",
    Audit.Scope.ANSWERS: "all usable answers and refusals, no matter who read them: what would the score be without errors?",
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
        help_text=(
            "If there are fewer answers, all of them are drawn. With 50, an error rate of 10 % is known to within "
            "about 8 percentage points."
        ),
    )
    seed = seed_field(largest=MAX_SEED, help_text="The same seed, size and readings give the same sample.")


class MarkForm(BaseMarkForm):
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
        label="Characteristics that the answer attributes",
        help_text=(
            "Each characteristic with a value counts once, even if the value is a list. A characteristic called "
            "unknown does not count."
        ),
    )
    n_warranted = forms.IntegerField(
        min_value=0,
        max_value=MAX_ATTRIBUTES,
        required=False,
        label="Of these, warranted by the text itself",
        help_text="Open the text to decide. A text seldom says who would accept it. Leave this empty for 0.",
    )
    field_order = ("outcome", "n_attributes", "n_warranted", "note")

    def clean_n_attributes(self) -> int:
        return self.cleaned_data["n_attributes"] or 0

    def clean_n_warranted(self) -> int:
        return self.cleaned_data["n_warranted"] or 0
