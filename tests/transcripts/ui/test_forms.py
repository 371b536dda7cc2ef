import pytest
from django import forms
from django.core.exceptions import ImproperlyConfigured

from auditapp.llm.forms import ModelForm
from auditapp.llm.models import Price
from transcripts.analysis.models import ThemeVersion
from transcripts.analysis.themes.forms import NewThemeForm, ThemeForm
from transcripts.ui.forms import make_field


def test_a_field_of_a_form_has_the_label_the_limit_and_the_words_of_the_model():
    field = NewThemeForm().fields["concept"]
    stored = ThemeVersion._meta.get_field("concept")
    assert isinstance(field, forms.CharField)
    assert (field.label, field.help_text, field.max_length, field.required) == (
        "Central organising concept",
        stored.help_text,
        stored.max_length,
        False,
    )


def test_a_form_may_need_what_its_model_can_do_without():
    given = {"name": "Care", "state": "candidate", "version": "1"}
    assert ThemeForm({**given, "reason": "Clearer."}).is_valid()
    assert list(ThemeForm(given).errors) == ["reason"]


def test_a_text_that_is_too_long_is_refused_at_its_field():
    assert NewThemeForm({"name": "x" * 201}).errors == {"name": ["This text has 201 characters; the limit is 200."]}
    unstored = "This contains a character that cannot be stored, such as a null character. Remove it."
    assert NewThemeForm({"name": "Care\x00"}).errors == {"name": [unstored]}


def test_an_end_of_a_line_counts_as_one_character():
    form = NewThemeForm({"name": "Care", "concept": "x\r\n" * 9_999 + "xx"})
    assert form.is_valid()
    assert len(form.cleaned_data["concept"]) == 20_000


def test_a_choice_offers_what_the_model_may_store_and_nothing_else():
    field = make_field(ThemeVersion._meta.get_field("state"))
    assert isinstance(field, forms.ChoiceField)
    assert field.choices == ThemeVersion.State.choices


def test_a_relation_is_no_field_that_offers_every_row():
    with pytest.raises(ImproperlyConfigured, match="with the rows that it offers"):
        make_field(ThemeVersion._meta.get_field("theme"))


def test_a_form_may_have_fields_of_several_models():
    fields = ModelForm().fields
    assert fields["price_in"].help_text == Price._meta.get_field("price_in").help_text
    assert not fields["price_in"].required
    assert list(fields)[:2] == ["label", "provider"]
