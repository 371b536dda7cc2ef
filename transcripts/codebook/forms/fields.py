"""Kinds of fields that the forms of the codebook share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from django import forms

from transcripts.codebook.pure.keyword_rules import check_rule
from transcripts.formats.codebook_rules import COLOR

Choices = Iterable[tuple[str, Any]]
# Each stands out from the light and the dark page alike (at least 3:1), which lets it fill a swatch or draw a border. No
# single colour is fit for words on both, so none is used for words, and none is ever the only sign.
PALETTE = {
    "#a8559a": "plum",
    "#c25187": "pink",
    "#c94a5c": "red",
    "#c2661a": "orange",
    "#a86b25": "brown",
    "#94791a": "gold",
    "#7d861c": "olive",
    "#3d8a49": "green",
    "#1f8a86": "teal",
    "#2f7fb5": "blue",
    "#7a68c9": "violet",
    "#6f7b8a": "slate",
}


def text_field(label: str, *, rows: int = 3, help_text: str = "", required: bool = False) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, "dir": "auto"})
    return forms.CharField(label=label, required=required, help_text=help_text, widget=widget)


def line_field(label: str, *, help_text: str = "", required: bool = False) -> forms.CharField:
    widget = forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"})
    return forms.CharField(label=label, required=required, help_text=help_text, widget=widget)


def offer(form: forms.BaseForm, name: str, choices: Choices) -> None:
    """Say what can be chosen in a field, which is known only when the form is made."""
    cast(forms.ChoiceField, form.fields[name]).choices = list(choices)


class LinesField(forms.CharField):
    """Several names, one on each line."""

    widget = forms.Textarea

    def prepare_value(self, value: object) -> object:
        return "\n".join(map(str, value)) if isinstance(value, tuple | list) else value

    def clean(self, value: object) -> Any:
        return tuple(super().clean(value).splitlines())


class RulesField(LinesField):
    """Keyword rules, one per line; errors name the line."""

    def clean(self, value: object) -> Any:
        lines = super().clean(value)
        wrong = [
            f"Line {number}: {sentence}"
            for number, line in enumerate(lines, 1)
            if line.strip() and (sentence := check_rule(" ".join(line.split())))
        ]
        if wrong:
            raise forms.ValidationError(wrong)
        return lines


class ColorField(forms.ChoiceField):
    """A colour of the palette, the one there is, or none."""

    def __init__(self) -> None:
        choices = [("", "none"), *PALETTE.items()]
        super().__init__(
            label="Colour", required=False, choices=choices, help_text="Always shown together with the name."
        )

    def offer(self, color: str) -> None:
        """Keep a colour that came with a file."""
        if color and color not in PALETTE:
            self.choices = [("", "none"), *PALETTE.items(), (color, color)]

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).lower()

    def valid_value(self, value: Any) -> bool:
        return super().valid_value(value) or bool(COLOR.fullmatch(str(value)))
