"""Codebooks as plain values, for tests of what needs no database."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent


def code(identifier: str, family: str = "f", **values: Any) -> CodeContent:
    return CodeContent(identifier=identifier, family=family, **{"name": identifier.title(), **values})


def family(identifier: str = "f", **values: Any) -> FamilyContent:
    return FamilyContent(identifier=identifier, **{"name": identifier.title(), **values})


def content(*codes: CodeContent, families: tuple[FamilyContent, ...] = (family(),)) -> CodebookContent:
    return CodebookContent(families=families, codes=codes)


@st.composite
def contents(draw: st.DrawFn) -> CodebookContent:
    """Two families of sentences and one of turns, with codes under one another, in the order of reading."""
    families = (family("f"), family("g"), family("t", unit="turn"))
    codes: list[CodeContent] = []
    for number in range(draw(st.integers(1, 9))):
        place = draw(st.sampled_from(["f", "g", "t"]))
        above = [each.identifier for each in codes if each.family == place]
        parent = draw(st.sampled_from(["", *above])) if number else ""
        text = draw(st.sampled_from(["", "one text", "another text"]))
        codes.append(
            code(f"c{number}", place, parent=parent, definition=text, aliases=draw(st.sampled_from([(), ("x",)])))
        )
    from transcripts.codebook.pure.checking import order_as_tree

    return CodebookContent(families=families, codes=order_as_tree(codes, families))
