"""What leaves the study of themes, as the room of exports hands it out."""

from __future__ import annotations

from typing import Any

from tests.transcripts.themes.cast import BALANCE, make_theme, put_on
from transcripts.accounts.models import User
from transcripts.corpus.models import Sentence
from transcripts.exchange.registry import Scope, find_export
from transcripts.projects.models import Project
from transcripts.themes import reflexive
from transcripts.themes.actions import ThemeText, revise_theme
from transcripts.themes.quotations import add_quote


def export(key: str, project: Project, only: User | None = None) -> list[dict[str, Any]]:
    found = find_export(key)
    assert found is not None
    assert found.read_rows is not None
    return [dict(zip(found.header, row, strict=True)) for row in found.read_rows(Scope(project, only))]


def test_a_quote_goes_out_with_its_marks_its_source_and_where_it_stands(
    project: Project, sentence: Sentence, lead: User
) -> None:
    theme = make_theme(project, lead)
    coding = put_on(sentence, BALANCE, lead)
    quote = add_quote(
        theme=theme.theme, sentence=sentence, side="for", by=lead, edited_text="[The model] would ask", coding=coding
    )
    [row] = export("theme_quotes", project)
    assert (row["edited_text"], row["text"]) == ("[The model] would ask", "I would ask first.")
    assert (row["model"], row["interview"], row["turn"]) == ("Model A", "i1", sentence.turn.position)
    assert (row["sentence_id"], row["quote_id"], row["coding_id"]) == (sentence.pk, quote.pk, coding.pk)


def test_reasons_of_themes_do_not_go_to_blind_coders(project: Project, lead: User, coder: User) -> None:
    theme = make_theme(project, lead)
    revise_theme(
        theme=theme.theme,
        based_on=1,
        text=ThemeText("Weighing up"),
        state="reviewed",
        codes=[BALANCE],
        reason="Two read it apart.",
        by=lead,
    )
    assert [row["reason"] for row in export("themes", project)] == ["", "Two read it apart."]
    assert [row["reason"] for row in export("themes", project, coder)] == ["", ""]
    assert [row["version"] for row in export("themes", project, coder)] == [1, 2]


def test_positionality_goes_with_the_exports(project: Project, coder: User, second_coder: User) -> None:
    reflexive.write_statement(project=project, text="Trained in sociology.", by=coder)
    [row] = export("positionality", project)
    assert (row["author"], row["text"]) == ("coder", "Trained in sociology.")
    assert export("positionality", project, second_coder) == []
