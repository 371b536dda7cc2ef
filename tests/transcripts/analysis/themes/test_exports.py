"""What leaves the study of themes, as the room of exports hands it out."""

from io import StringIO

from django.core.management import call_command
from django.urls import reverse

from tests.transcripts.analysis.themes.cast import BALANCE, make_theme, put_on
from tests.transcripts.corpus.cast import allow, refuse
from transcripts.analysis.themes import actions
from transcripts.analysis.themes.actions import ThemeText, add_quote, revise_theme
from transcripts.audit_trail.models import AuditEvent
from transcripts.exchange.rows import Scope, find_export


def export(key, study, only=None):
    found = find_export(key)
    assert found is not None
    assert found.read_rows is not None
    return [dict(zip(found.header, row, strict=True)) for row in found.read_rows(Scope(study, only))]


def test_a_quote_goes_out_with_its_marks_its_source_and_where_it_stands(study, sentence, lead):
    theme = make_theme(study, lead)
    coding = put_on(sentence, BALANCE, lead)
    quote = add_quote(
        theme=theme.theme, sentence=sentence, side="for", by=lead, edited_text="[The model] would ask", coding=coding
    )
    allow(lead, sentence.turn.interview, scope="quotation")
    [row] = export("theme_quotes", study)
    assert row["may_be_quoted"] is True
    assert (row["edited_text"], row["text"]) == ("[The model] would ask", "I would ask first.")
    assert (row["model"], row["interview"], row["turn"]) == ("Model A", "i1", sentence.turn.position)
    assert (row["sentence_id"], row["quote_id"], row["coding_id"]) == (sentence.pk, quote.pk, coding.pk)


def test_without_consent_to_quotation_a_quote_says_only_where_it_stands(study, sentence, lead):
    theme = make_theme(study, lead)
    add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead, edited_text="[The model] would ask")
    [row] = export("theme_quotes", study)
    assert (row["edited_text"], row["text"], row["may_be_quoted"]) == ("", "", False)
    assert (row["interview"], row["sentence_id"], row["theme"]) == ("i1", sentence.pk, theme.theme.number)
    allow(lead, sentence.turn.interview, scope="quotation")
    refuse(lead, sentence.turn.interview, scope="quotation")
    assert export("theme_quotes", study)[0]["text"] == ""


def test_the_page_of_exports_and_the_command_say_what_is_left_out(study, sentence, lead, client_of, tmp_path):
    theme = make_theme(study, lead)
    add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
    told = "The words of 1 interview are left out: consent to “Quotation in publications” is not given."
    page, path = reverse("exchange:exports", args=[study.slug]), str(tmp_path / "quotes.csv")
    errors = StringIO()
    assert told in client_of(lead).get(page).content.decode()
    call_command("study", "export", "theme_quotes", study=study.slug, output=path, stderr=errors)
    assert told in errors.getvalue()
    assert "interview consent" in errors.getvalue()
    assert AuditEvent.objects.get(action="export.written").details["without_consent"] == 1
    allow(lead, sentence.turn.interview, scope="quotation")
    assert told not in client_of(lead).get(page).content.decode()


def test_the_extracts_for_the_report_hold_what_may_be_quoted(study, sentence, lead, client_of):
    theme = make_theme(study, lead)
    add_quote(theme=theme.theme, sentence=sentence, side="for", by=lead)
    client, page = client_of(lead), reverse("themes:phases", args=[study.slug])
    html = client.get(page).content.decode()
    assert "0 extracts for the report" in html
    assert "1 more quote may not be published" in html
    assert sentence.read_text() not in html
    tagged = client.get(reverse("themes:theme", args=[study.slug, theme.theme.number])).content.decode()
    assert "no consent to quotation" in tagged
    allow(lead, sentence.turn.interview, scope="quotation")
    html = client.get(page).content.decode()
    assert "1 extract for the report" in html
    assert sentence.read_text() in html


def test_reasons_of_themes_do_not_go_to_blind_coders(study, lead, coder):
    theme = make_theme(study, lead)
    revise_theme(
        theme=theme.theme,
        based_on=1,
        text=ThemeText("Weighing up"),
        state="reviewed",
        codes=[BALANCE],
        reason="Two read it apart.",
        by=lead,
    )
    assert [row["reason"] for row in export("themes", study)] == ["", "Two read it apart."]
    assert [row["reason"] for row in export("themes", study, coder)] == ["", ""]
    assert [row["version"] for row in export("themes", study, coder)] == [1, 2]


def test_positionality_goes_with_the_exports(study, coder, second_coder):
    actions.write_statement(study=study, text="Trained in sociology.", by=coder)
    [row] = export("positionality", study)
    assert (row["author"], row["text"]) == ("coder", "Trained in sociology.")
    assert export("positionality", study, second_coder) == []
