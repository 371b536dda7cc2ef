"""Interviews as one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.formats.qdpx_cases import Study, export, guid, read_study, texts
from transcripts.corpus.pure.readers import read_bytes
from transcripts.formats.qdpx_content import QdpxProject, QdpxSource
from transcripts.formats.qdpx_turns import SpokenTurn, lay_out_turns, take_turns

TURNS = [
    SpokenTurn("interviewer", "Is it so?", prompt_kind="open"),
    SpokenTurn("model", "Thinking.", "reasoning"),
    SpokenTurn("model", "Perhaps.\r\nI would ask.", speaker="Model A"),
]


@given(st.lists(st.builds(SpokenTurn, texts, texts, texts, texts, texts), max_size=4))
def test_turns_come_back_through_a_project_file(turns: list[SpokenTurn]) -> None:
    laid_out = lay_out_turns(turns)
    source = QdpxSource(guid("t"), "t", laid_out.text, turns=laid_out.turns)
    [back] = read_study(export(Study(QdpxProject("p"), (source,)))).sources

    assert take_turns(back) == turns


def test_a_laid_out_interview_reads_as_one() -> None:
    assert lay_out_turns(TURNS).text == (
        "Interviewer: Is it so?\n\nModel (reasoning): Thinking.\n\nModel A: Perhaps.\r\nI would ask.\n\n"
    )


def test_the_text_alone_can_be_imported_with_its_speakers() -> None:
    text = lay_out_turns([TURNS[0], TURNS[2]]).text.encode()
    [interview] = read_bytes(text, name="talk.txt", format="speaker_text").interviews

    assert [(turn.role, turn.text.strip()) for turn in interview.turns] == [
        ("interviewer", "Is it so?"),
        ("model", "Perhaps.\r\nI would ask."),
    ]
