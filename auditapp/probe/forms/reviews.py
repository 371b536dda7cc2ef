from __future__ import annotations

import json

from django import forms
from django.core.exceptions import ValidationError

from auditapp.batches.forms import seed_field
from auditapp.probe.actions.reviews import MAX_METHOD, MAX_NAME, MAX_SEED, MAX_SOURCE
from auditapp.probe.pure.winnowing import Rules, RulesRefused, read_rules
from transcripts.ui.fields import limit_size

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


class LoadForm(forms.Form):
    """A file of reviews, the rules that winnow it, and where it is from."""

    name = forms.CharField(max_length=MAX_NAME, help_text="What the reviews are called in this study.")
    file = forms.FileField(
        label="File of reviews",
        help_text="CSV in UTF-8 with the columns text and name_inferred_category (woman, man, androgynous, unknown). A file with a "
        "column of names is refused.",
        validators=[limit_size(MAX_UPLOAD_BYTES, "Load a larger one with `manage.py probe winnow --into`.")],
    )
    category_method = forms.CharField(
        label="Method that inferred the category",
        max_length=MAX_METHOD,
        help_text="Which method inferred the categories from first names, and its version.",
    )
    source = forms.CharField(
        max_length=MAX_SOURCE,
        widget=forms.Textarea({"rows": 2}),
        help_text="Where the reviews are from, their licence, and what allows sending them to models.",
    )
    rules = forms.CharField(
        widget=forms.Textarea({"rows": 14, "spellcheck": "false"}),
        initial=json.dumps(EXAMPLE, indent=1),
        help_text="Declared rules, applied in order; an example stands here. length (unit words or characters, at_least, at_most), "
        "equals (column, value), contains and excludes (terms; * for any ending). Only what they keep is stored.",
    )
    seed = seed_field(largest=MAX_SEED, help_text="With the same seed the same reviews are drawn again.")

    def clean_rules(self) -> Rules:
        try:
            return read_rules(self.cleaned_data["rules"])
        except RulesRefused as error:
            raise ValidationError(str(error)) from error
