from __future__ import annotations

import json

from django import forms
from django.core.exceptions import ValidationError

from auditapp.batches.forms import seed_field
from auditapp.benchmarks.gender_cues.models import MAX_SEED, ReviewSet
from auditapp.benchmarks.gender_cues.pure.winnowing import Rules, RulesRefused, read_rules
from transcripts.ui.forms import RowForm, limit_size

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
    """A file of reviews, the rules that winnow it, and where it is from."""

    file = forms.FileField(
        label="File of reviews",
        help_text="CSV in UTF-8 with the columns text and name_inferred_category (woman, man, androgynous, unknown). A file with a "
        "column of names is refused.",
        validators=[limit_size(MAX_UPLOAD_BYTES, "Load a larger one with `manage.py probe winnow --into`.")],
    )
    rules = forms.CharField(
        widget=forms.Textarea({"rows": 14, "spellcheck": "false"}),
        initial=json.dumps(EXAMPLE, indent=1),
        help_text="Declared rules, applied in order; this is an example. length (unit words or characters, at_least, at_most), "
        "equals (column, value), contains and excludes (terms; * for any ending). Only what they keep is stored.",
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
