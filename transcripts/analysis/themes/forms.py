"""Forms for themes, quotes, phases and positionality. The actions check whether the fields fit together."""

from __future__ import annotations

from typing import Any

from django import forms

from transcripts.analysis.models import PhaseEntry, PositionalityStatement, ThemeQuote, ThemeVersion
from transcripts.analysis.themes.actions import MAX_NAME
from transcripts.ui.forms import NumberField, RowForm, make_text_field
from transcripts.ui.typed_text import MAX_TEXT


class ManyCodes(forms.Field):
    """Identifiers of codes, from the ticked boxes in the list of codes. The action checks whether they exist."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: object) -> list[str]:
        return [str(each) for each in value] if isinstance(value, list) else []


class NewThemeForm(RowForm):
    """A candidate theme."""

    codes = ManyCodes(label="Codes", required=False)

    class Meta(RowForm.Meta):
        model = ThemeVersion
        fields = ("name", "concept", "description")


class ThemeForm(NewThemeForm):
    """The next version of a theme. ``version`` is the one it is based on."""

    version = NumberField()
    needed = ("reason",)

    class Meta(RowForm.Meta):
        model = ThemeVersion
        fields = ("name", "concept", "description", "state", "reason")


class GroupForm(RowForm):
    """Ticked codes, and where they go. ``themes`` are the existing themes, by number."""

    codes = ManyCodes(label="Codes", required=False)
    into = forms.TypedChoiceField(label="Add them to", required=False, coerce=int, empty_value=None)
    new_name = forms.CharField(
        label="or into a new theme named",
        max_length=MAX_NAME,
        required=False,
        widget=forms.TextInput({"dir": "auto", "autocomplete": "off"}),
    )
    out_of = forms.TypedChoiceField(
        label="Remove them from",
        required=False,
        coerce=int,
        empty_value=None,
        help_text="Fill in both to move the codes.",
    )
    needed = ("reason",)
    field_order = ("codes", "into", "new_name", "out_of")

    class Meta(RowForm.Meta):
        model = ThemeVersion
        fields = ("reason",)

    def __init__(self, *args: Any, themes: list[ThemeVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(each.theme.number, f"{each.theme.number}. {each.name}") for each in themes]
        open_choices = [
            choice for choice, each in zip(choices, themes, strict=True) if each.state != ThemeVersion.State.DROPPED
        ]
        for name, offered in (("into", open_choices), ("out_of", choices)):
            field = self.fields[name]
            assert isinstance(field, forms.TypedChoiceField)  # noqa: S101 - for the type checker
            field.choices = [("", "no theme"), *offered]


class MergeForm(RowForm):
    """A merge of two or more themes. Each choice includes the version on which it is based: ``3:2``."""

    themes = forms.MultipleChoiceField(label="Themes to merge", widget=forms.CheckboxSelectMultiple)
    needed = ("reason",)
    field_order = ("themes",)

    class Meta(RowForm.Meta):
        model = ThemeVersion
        fields = ("name", "concept", "description", "reason")

    def __init__(self, *args: Any, themes: list[ThemeVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["themes"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - for the type checker
        field.choices = [
            (f"{each.theme.number}:{each.number}", f"{each.theme.number}. {each.name}")
            for each in themes
            if each.state != ThemeVersion.State.DROPPED
        ]


class SplitForm(RowForm):
    """A split of a theme into two. ``version`` is the version on which it is based."""

    name_1 = forms.CharField(label="Name of the first", max_length=MAX_NAME, widget=forms.TextInput({"dir": "auto"}))
    name_2 = forms.CharField(label="Name of the second", max_length=MAX_NAME, widget=forms.TextInput({"dir": "auto"}))
    version = NumberField()
    needed = ("reason",)
    field_order = ("name_1", "name_2")

    class Meta(RowForm.Meta):
        model = ThemeVersion
        fields = ("reason",)


class QuoteForm(RowForm):
    """A sentence for or against a theme. ``replaces`` is its active quote."""

    side = forms.ChoiceField(
        label="Speaks",
        choices=[
            (ThemeQuote.Side.FOR.value, "for the theme"),
            (ThemeQuote.Side.AGAINST.value, "against it: a negative case"),
        ],
        widget=forms.RadioSelect,
    )
    coding = NumberField(required=False)
    replaces = NumberField(required=False)
    field_order = ("side",)

    class Meta(RowForm.Meta):
        model = ThemeQuote
        fields = ("edited_text", "note")


class EntryForm(forms.Form):
    """A new text in a phase."""

    phase = forms.TypedChoiceField(coerce=int, choices=PhaseEntry.Phase.choices, widget=forms.HiddenInput)
    text = make_text_field("Write an entry", rows=3, max_length=MAX_TEXT, required=True)


class StatementForm(RowForm):
    """A positionality statement. ``replaces`` is the person's active statement."""

    replaces = NumberField(required=False)
    optional = ("text",)

    class Meta(RowForm.Meta):
        model = PositionalityStatement
        fields = ("text",)
