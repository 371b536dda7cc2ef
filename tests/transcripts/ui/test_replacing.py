"""Forms that replace what is stored."""

from django import forms

from transcripts.ui.forms import ReplacingForm


class TitleForm(ReplacingForm):
    title = forms.CharField()


def test_what_is_stored_may_have_a_part_by_now_that_the_form_does_not_know():
    """An interview that went on has turns of which no field was made."""
    seen = TitleForm(stored={"title": "One"})["seen"].value()
    form = TitleForm({"title": "Mine", "seen": seen}, stored={"title": "One"})
    assert form.is_valid()
    again = form.rebase({"title": "Theirs", "kind-7": ""})
    assert [(clash.stored, clash.typed) for clash in again.clashes] == [("Theirs", "Mine")]
