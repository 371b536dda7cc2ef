"""Descriptions of codes: ours are taken apart again, those of other programs are left whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.formats.codebook_rules import CodeExample
from transcripts.formats.refi import CodeDescription, compose_description, read_description

HEADINGS = ["== Include ==", "\\== Include ==", "== Anchor example ==", "== Sentence ==", "\n", "\r\n", "a", "\\"]
texts = st.text(max_size=15) | st.lists(st.sampled_from(HEADINGS), max_size=6).map("".join)
examples = st.builds(
    CodeExample,
    code=st.just(""),
    kind=st.sampled_from(["include", "exclude", "anchor"]),
    quote=texts,
    note=texts,
    interview=texts,
    sentence=st.none() | st.integers(1, 99_999),
)
descriptions = st.builds(
    CodeDescription,
    texts,
    include=texts,
    exclude=texts,
    rules=texts,
    examples=st.lists(examples, max_size=3).map(tuple),
)


@given(descriptions)
def test_every_description_of_ours_comes_back_in_its_parts(parts):
    assert read_description(compose_description(parts)) == parts


@given(texts)
def test_every_text_of_another_program_comes_back_as_it_was(text):
    assert compose_description(read_description(text)) == text or read_description(text).definition == text


@pytest.mark.parametrize(
    "text",
    [
        "Include: what hedges.\nExclude: thanks.",
        "A\n== Include ==\nb",
        "A\n\n== Exclude ==\nb\n\n== Include ==\nc",
        "A\n\n== Note ==\nof no example",
        "A\r\n\r\n== Include ==\r\nb",
        "A\n\n== Anchor example ==\nq\n\n== Sentence ==\n007",
        "A\n\n== Include ==\n",
    ],
)
def test_what_we_would_not_have_written_is_the_definition_as_a_whole(text):
    assert read_description(text) == CodeDescription(text)


def test_a_description_reads_well_as_it_stands():
    parts = CodeDescription(
        "Limits a claim.",
        include="“perhaps”",
        exclude="thanks",
        examples=(CodeExample(code="", kind="exclude", quote="Perhaps you could thank her.", note="polite"),),
    )

    assert compose_description(parts) == (
        "Limits a claim.\n\n== Include ==\n“perhaps”\n\n== Exclude ==\nthanks"
        "\n\n== Counterexample ==\nPerhaps you could thank her.\n\n== Note ==\npolite"
    )
