from __future__ import annotations

from django import forms

from auditapp.audits.views import BaseMarkForm
from auditapp.batches.forms import seed_field
from auditapp.benchmarks.sob.audits.actions import MARK_OUTCOMES
from auditapp.benchmarks.sob.judging.forms import OUTCOME_WORDS
from auditapp.benchmarks.sob.models import Audit, AuditMark
from transcripts.ui.forms import RowForm
from transcripts.ui.typed_text import MAX_SEED

SCOPE_WORDS = {
    Audit.Scope.FORMATTER: "interpretations by the formatter: how often are they wrong?",
    Audit.Scope.ANSWERS: "all usable answers and refusals, no matter who read them: what would the score be without errors?",
}


class AuditForm(RowForm):
    """The scope, size and seed of a sample."""

    scope = forms.ChoiceField(
        label="Drawn from",
        choices=[(key.value, words) for key, words in SCOPE_WORDS.items()],
        initial=Audit.Scope.ANSWERS.value,
        widget=forms.RadioSelect,
    )
    seed = seed_field(largest=MAX_SEED, help_text="The same seed, size and interpretations give the same sample.")
    field_order = ("scope", "size", "seed")

    class Meta(RowForm.Meta):
        model = Audit
        fields = ("size",)


class MarkForm(BaseMarkForm):
    """A reviewer's own interpretation of an answer."""

    outcome = forms.ChoiceField(
        label="What does the answer say?",
        choices=[(str(key), OUTCOME_WORDS[key]) for key in MARK_OUTCOMES],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what the answer says."},
    )
    optional = ("n_attributes", "n_warranted")
    field_order = ("outcome", "n_attributes", "n_warranted", "note")

    class Meta(RowForm.Meta):
        model = AuditMark
        fields = ("n_attributes", "n_warranted", "note")

    def clean_n_attributes(self) -> int:
        return self.cleaned_data["n_attributes"] or 0

    def clean_n_warranted(self) -> int:
        return self.cleaned_data["n_warranted"] or 0
