"""Quotes for and against a theme are checked against their sentence, and never edited."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.transcripts.analysis.themes.cast import BALANCE, answers, make_theme, put_on
from tests.transcripts.coding.cast import count_events, last_event
from transcripts.analysis.models import ThemeQuote
from transcripts.analysis.themes.actions import QuoteChanged, add_quote, withdraw_quote
from transcripts.codebook.actions import start_study
from transcripts.corpus.models import BoundaryEdit
from transcripts.refusals import WrongInput


@pytest.fixture
def theme(study, lead):
    return make_theme(study, lead)


def test_a_quote_keeps_its_edits_and_its_sentence(study, theme, interview, lead):
    sentence = answers(interview)[1]
    assert sentence.read_text() == "Background can shape an answer, though it never settles it."
    coding = put_on(sentence, BALANCE, lead)
    quote = add_quote(
        theme=theme.theme,
        sentence=sentence,
        side="for",
        by=lead,
        edited_text="Background […] never settles it.",
        note="Says both.",
        coding=coding,
    )
    assert (quote.edited_text, quote.side, quote.coding) == ("Background […] never settles it.", "for", coding)
    event = last_event(study)
    assert (event.action, event.details["edited"]) == ("theme.quote.added", True)
    assert "settles" not in str(event.details)


def test_a_whole_sentence_is_no_edit(theme, sentence, lead):
    quote = add_quote(theme=theme.theme, sentence=sentence, side="against", by=lead, edited_text=sentence.read_text())
    assert quote.edited_text == ""


def test_words_that_are_not_in_the_sentence_are_refused(theme, sentence, lead):
    with pytest.raises(WrongInput, match="“gladly”") as caught:
        add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead, edited_text="I would gladly ask first.")
    assert caught.value.field == "edited_text"
    assert not ThemeQuote.objects.exists()


def test_a_changed_quote_is_another_row(study, theme, sentence, lead):
    first = add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
    second = add_quote(theme=theme.theme, sentence=sentence, side="against", by=lead, replaces=first.pk)
    first.refresh_from_db()
    assert first.withdrawn_at == second.added_at
    assert (first.side, second.side) == ("for", "against")
    assert last_event(study).details["replaces"] == first.pk


def test_the_loser_of_a_race_learns_what_stands(theme, sentence, lead, owner):
    hers = add_quote(theme=theme.theme, sentence=sentence, side="for", by=owner, note="Hers")
    with pytest.raises(QuoteChanged, match="owner quoted this sentence") as caught:
        add_quote(theme=theme.theme, sentence=sentence, side="against", by=lead)
    assert caught.value.active == hers
    withdraw_quote(quote=hers, by=owner)
    with pytest.raises(QuoteChanged, match="was withdrawn") as caught:
        add_quote(theme=theme.theme, sentence=sentence, side="against", by=lead, replaces=hers.pk)
    assert caught.value.active is None


def test_a_withdrawn_quote_stays_in_the_record(study, theme, sentence, lead):
    quote = add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
    withdraw_quote(quote=quote, by=lead)
    quote.refresh_from_db()
    assert quote.withdrawn_at is not None
    events = count_events(study)
    withdraw_quote(quote=quote, by=lead)
    assert count_events(study) == events


def test_a_sentence_is_quoted_once_for_a_theme(theme, sentence, lead):
    quote = add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
    quote.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        quote.save(force_insert=True)


@pytest.mark.parametrize(
    ("given", "field"), [({"side": "both"}, "side"), ({"side": "for", "note": "x" * 5_001}, "note")]
)
def test_what_cannot_be_taken_is_named(theme, sentence, lead, given, field):
    with pytest.raises(WrongInput) as caught:
        add_quote(theme=theme.theme, sentence=sentence, by=lead, **given)
    assert caught.value.field == field


def test_a_sentence_of_another_study_or_with_corrected_breaks_is_refused(theme, sentence, lead, owner):
    other = make_theme(start_study(slug="other", name="Other", by=owner), owner)
    with pytest.raises(WrongInput, match="not part of this study"):
        add_quote(theme=other.theme, sentence=sentence, side="for", by=owner)
    sentence.retired_by = BoundaryEdit.objects.create(
        turn=sentence.turn, kind="split", idempotency_key="0" * 32, edited_at=timezone.now(), edited_by=lead
    )
    sentence.save()
    with pytest.raises(WrongInput, match="boundaries of this sentence were edited"):
        add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
