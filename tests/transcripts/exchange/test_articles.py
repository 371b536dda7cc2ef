"""Texts of a project file that are no conversations: they come in whole."""

import pytest

from tests.support.shared import shared
from transcripts.exchange.pure import DividedText, divide
from transcripts.formats.qdpx_content import QdpxSource

ARTICLE = """Trust in machines

Abstract: Who trusts whom, and why?

Keywords: trust, machines

Introduction: Much was written on trust. We asked ten people.
Note: all names are changed.

Results: Nobody agreed.
Note: nobody had to.
"""
TALK = "Anna: How was it?\nBea: It was good.\nAnna: Why?\nBea: The cake."


def read(text):
    divided = divide(QdpxSource(guid="g", name="Text", text=text), "text")
    assert isinstance(divided, DividedText)
    return divided


def test_an_article_is_one_turn_with_every_character():
    divided = read(ARTICLE)
    assert divided.how == "whole"
    assert [(at, turn.role, turn.text) for at, turn in divided.turns] == [(0, "model", ARTICLE)]


@pytest.mark.parametrize("file", ["bias_negotiation.txt", "second_order_bias.txt"])
def test_papers_that_quote_conversations_are_no_conversations(file):
    assert read(shared(f"papers/{file}").read_text()).how == "whole"


@pytest.mark.parametrize(
    "text",
    [
        TALK,
        "A talk of May.\n" + TALK,
        "Interviewer: Why?\nAnswer: Because.",
        "Sara Lind  00:03\nWhy?\n\nP7  00:09\nBecause.",
        "[id1] Why?\n[id2] Because.",
    ],
)
def test_conversations_are_divided(text):
    assert read(text).how == "speakers"
