"""Chips are written without a template, so what people typed is escaped by hand: shown here for every field."""

from dataclasses import fields
from html.parser import HTMLParser

import pytest

from transcripts.desk.annotations import CodingView, SentenceAnnotations
from transcripts.desk.templatetags.desk_rows import write_chips

NASTY = "\"'><script>alert(1)</script><b hx-get=/x onclick=y>&amp;"
# Set by the program from lists of its own or made by it; never typed.
PLAIN = {
    "idempotency_key": "0" * 32,
    "unit": "sentence",
    "level": "latent",
    "enactment": "enacted",
    "carries_enactment": True,
    "blinding": "assisted",
    "version": 1,
    "grounding": "grounded",
    "prompting": "unclear",
    "range_id": "1" * 32,
    "quote_at": 3,
}


class Reader(HTMLParser):
    """Tells the elements, their attributes and the text of a piece of HTML."""

    def __init__(self):
        super().__init__()
        self.elements = set()
        self.attributes = set()
        self.text = []

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text.append(data)


def make_chip(**given):
    typed = {field.name: NASTY for field in fields(CodingView) if field.name not in PLAIN and field.type == "str"}
    return CodingView(**{**typed, **PLAIN, "attributes": {NASTY: NASTY}, "derived": "", **given})


def test_a_move_stored_before_enactment_was_required_says_that_it_is_not_stated():
    old, theme = make_chip(enactment=""), make_chip(enactment="", carries_enactment=False)
    assert "<i>enactment not stated</i>" in write_chips(SentenceAnnotations(chips=[old]), "/codings/", writable=True)
    assert "not stated" not in write_chips(SentenceAnnotations(chips=[theme]), "/codings/", writable=True)


@pytest.mark.parametrize("coder", ["", NASTY])
@pytest.mark.parametrize("writable", [True, False])
def test_nothing_that_was_typed_becomes_markup(coder, *, writable):
    reader = Reader()
    reader.feed(write_chips(SentenceAnnotations(chips=[make_chip(coder=coder)]), "/codings/", writable))
    assert reader.elements <= {"li", "a", "b", "bdi", "i", "q", "span", "button", "svg", "path"}
    assert not {name for name in reader.attributes if name.startswith(("on", "hx-"))}
    assert NASTY in "".join(reader.text)


def test_a_colleagues_chip_carries_nothing_to_act_on():
    html = write_chips(SentenceAnnotations(chips=[make_chip(coder="ada")]), "/codings/", writable=True)
    assert "data-coding" not in html
    assert "button" not in html


def test_where_coding_is_closed_there_is_nothing_to_press():
    html = write_chips(SentenceAnnotations(chips=[make_chip(coder="")]), "/codings/", writable=False)
    assert "<a " not in html
    assert "button" not in html


@pytest.mark.parametrize(
    ("prompting", "derived", "word"),
    [
        ("", "prompted", "prompted"),
        ("", "unprompted", ""),
        ("unprompted", "prompted", "unprompted"),
        ("unclear", "", "prompting unclear"),
    ],
)
def test_prompting_is_shown_when_said_or_found(prompting, derived, word):
    html = write_chips(
        SentenceAnnotations(chips=[make_chip(prompting=prompting, derived=derived)]), "/codings/", writable=True
    )
    assert (f'<i class="raised">{word}</i>' in html) == bool(word)


def test_a_chip_has_the_colour_of_its_code_twice_for_itself_and_for_the_margin():
    tinted, plain = make_chip(color="#0a5c59"), make_chip(color="")
    html = write_chips(SentenceAnnotations(chips=[tinted]), "/codings/", writable=True)
    assert html.count('fill="#0a5c59"') == 2
    assert "tinted" in html
    assert "<svg" not in write_chips(SentenceAnnotations(chips=[plain]), "/codings/", writable=True)


@pytest.mark.parametrize(("family", "sign"), [("Failure modes", "FM"), ("Repertoires", "RE"), ("X", "X"), ("", "")])
def test_a_code_without_a_key_shows_two_letters_that_no_key_prints(family, sign):
    assert make_chip(key="", family_name=family).sign == sign
