"""Edited quotations: what was left out or added is marked, and the rest is in the source (method brief, R20).

Marks of an edit are an ellipsis (``[…]``, ``[...]``, ``…``, ``...``) for words left out, and square brackets for words
added or put in the place of others (``[the model]``, ``[W]e``). Between marks the words of the source follow one
another as they do there. Spaces, the shape of quotation marks and Markdown's marks of emphasis may differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MARK = re.compile(r"\[[^\[\]]*\]|…|\.\.\.|\. \. \.")
ELLIPSES = frozenset({"", "…", "...", ". . ."})
EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)")
QUOTATION_MARKS = str.maketrans("‘’‚‛“”„‟\u00a0", "''''\"\"\"\" ")
# A word of these may not be cut by an unmarked edit; scripts without spaces or capitals have no such edge.
CASED_OR_DIGIT = frozenset({"Lu", "Ll", "Lt", "Nd"})
MAX_SHOWN = 80


class Unfaithful(Exception):
    """An edited quotation says what its source does not; ``words`` are those that are nowhere in it."""

    def __init__(self, message: str, words: list[str]) -> None:
        super().__init__(message)
        self.words = words


Piece = tuple[str, bool, bool]
"""Words between two marks, and whether their start and end are open: touch a bracket, so the word may go on there."""


def check_quotation(edited: str, source: str) -> None:
    """Make sure that ``edited``, without its marked edits, is in ``source`` in order. Raises ``Unfaithful``."""
    if edited == source:
        return
    plain = _flatten(source)
    pieces = [piece for piece in _cut(_flatten(edited)) if any(map(str.isalnum, piece[0]))]
    if not pieces:
        raise Unfaithful(
            "Nothing of the original sentence is left: keep at least one of its words outside the brackets.", []
        )
    if words := [word for piece in pieces for word in _find_strange(piece, plain)]:
        raise Unfaithful(
            f"Not in the sentence: {', '.join(map(_show, words))}. Put words of your own in square brackets.", words
        )
    end = 0
    for piece in pieces:
        text = piece[0]
        start = _find(piece, plain, end)
        if start is None:
            raise Unfaithful(
                f"The sentence does not continue this way: {_show(text)}. Mark what you left out with […].", []
            )
        end = start + len(text)


def _flatten(text: str) -> str:
    """The text as it is compared: one kind of spaces and quotation marks, no marks of emphasis."""
    plain = unicodedata.normalize("NFC", text).translate(QUOTATION_MARKS)
    return " ".join(EMPHASIS.sub("", plain).split())


def _cut(edited: str) -> Iterator[Piece]:
    """The stretches of an edited quotation between its marks."""
    start, touches = 0, False
    for mark in MARK.finditer(edited):
        puts_in = mark[0].strip("[] ") not in ELLIPSES
        yield _make_piece(edited[start : mark.start()], touches, puts_in)
        start, touches = mark.end(), puts_in
    yield _make_piece(edited[start:], touches, touched=False)


def _make_piece(text: str, touches: bool, touched: bool) -> Piece:
    return (text.strip(), touches and text[:1] != " ", touched and text[-1:] != " ")


def _find_strange(piece: Piece, source: str) -> Iterator[str]:
    """The words of a piece that are nowhere in the source."""
    text, open_start, open_end = piece
    words = text.split()
    last = len(words) - 1
    for place, word in enumerate(words):
        alone = (word, open_start and place == 0, open_end and place == last)
        if any(map(str.isalnum, word)) and _find(alone, source, 0) is None:
            yield word


def _find(piece: Piece, source: str, start: int) -> int | None:
    """Where the piece first occurs in the source from ``start`` on, without cutting a word."""
    text, open_start, open_end = piece
    found = source.find(text, start)
    while found >= 0:
        end = found + len(text)
        cuts_start = not open_start and found > 0 and _is_one_word(source[found - 1], text[0])
        cuts_end = not open_end and end < len(source) and _is_one_word(text[-1], source[end])
        if not (cuts_start or cuts_end):
            return found
        found = source.find(text, found + 1)
    return None


def _is_one_word(before: str, after: str) -> bool:
    return {unicodedata.category(before), unicodedata.category(after)} <= CASED_OR_DIGIT


def _show(text: str) -> str:
    return f"“{text}”" if len(text) <= MAX_SHOWN else f"“{text[:MAX_SHOWN].rstrip()} …”"
