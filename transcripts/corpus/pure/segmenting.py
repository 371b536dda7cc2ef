"""Cut a turn's text into the units that people and models code, and what a reader read into what is stored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import sentencex

from transcripts.corpus.pure.markdown_lines import Kind, Span, find_lines
from transcripts.corpus.pure.sentence_rules import (
    find_missed_cuts,
    is_taken_back,
    mask_literals,
    mask_misleading,
    skip_emoji,
)
from transcripts.formats.interviews import ReadInterview, ReadTurn

__all__ = ["SEGMENTER", "SEGMENTER_VERSION", "Kind", "Span", "segment"]

SEGMENTER = "markdown-sentencex"
# Boundaries are frozen when a text is imported, so a change of a rule needs a new version.
SEGMENTER_VERSION = "4"

# Characters. A sentence or quotation that is longer may be cut where it would not be in a shorter line.
_WINDOW = 8_000
# White space of more than one byte.
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
# What a tool is given, and what it gives back, is one unit each: a call is an act that people code, a result is cited.
TOOL_KINDS = {"tool_call": "call", "tool_result": "result"}

SentenceRow = tuple[int, int, int, str, str]
"""The position of a sentence, which counts from 1 over the whole interview, its start and end in the turn, its kind and
the hash of its text, as in ``models.Sentence``."""


def segment(text: str, language: str = "en") -> list[Span]:
    """The units of ``text`` in order; they do not overlap, none is empty, none begins or ends with white space.

    ``language`` is an IETF tag ("en", "pt-BR"); an unknown one is cut by general rules. Headings, table rows, lines of
    code and lines that are no Markdown block ("other": a link definition, a line of tags or of emoji) are one unit each.
    To no unit belong white space and markers: of lists, headings, quotes, rules, fences (with the name of a language behind one)
    and the line under a table's head or a heading. Same text and language, same result.

    Two stages. ``markdown_lines`` finds lines and their kinds; a line break always ends a unit, also a soft wrap. Inside lines of
    prose, quotes and list items sentencex finds sentences, and the rules of ``sentence_rules`` correct what it is known to get
    wrong. Known limits: an ellipsis is an end only before a capital letter, so in scripts without case it never is; a line that
    starts with a number of up to two digits and a full stop is a list item, also "3. Oktober" and a wrapped "14. May".
    """
    language = _read_language(language)
    spans: list[Span] = []
    for start, end, kind in find_lines(text):
        if kind is Kind.PROSE or kind is Kind.LIST_ITEM:
            spans += _cut_line(text[start:end], start, kind, language)
        else:
            spans.append(Span(start, end, kind))
    return spans


@lru_cache(maxsize=256)
def _read_language(tag: str) -> str:
    return re.split("[-_]", tag.strip().lower(), maxsplit=1)[0] or "en"


def _cut_line(line: str, offset: int, kind: Kind, language: str) -> Iterator[Span]:
    line = mask_literals(line)
    pieces = _find_pieces(mask_misleading(line, language), language)
    start = 0
    for end in _find_ends(line, pieces, language):
        for cut in (*find_missed_cuts(line, start, end, language), end):
            unit = line[start:cut]
            words = unit.strip()
            if words:
                begin = offset + start + len(unit) - len(unit.lstrip())
                yield Span(begin, begin + len(words), kind)
            start = cut


def _find_pieces(line: str, language: str) -> list[str]:
    """sentencex's pieces of ``line``; a long line is read through a window that moves on by whole pieces.

    Its time grows with the square of the length in text without spaces and in rows of quotation marks.
    """
    pieces: list[str] = []
    start = 0
    is_open = False
    while len(line) - start > _WINDOW:
        found = _ask_sentencex(line[start : start + _WINDOW], language)
        closed = found[:-1] or found
        start += sum(map(len, closed))
        if is_open:
            pieces[-1] += closed.pop(0)
        pieces += closed
        is_open = len(found) == 1
    rest = _ask_sentencex(line[start:], language)
    if is_open and rest:
        pieces[-1] += rest.pop(0)
    return pieces + rest


def _ask_sentencex(text: str, language: str) -> list[str]:
    """The pieces of ``text``.

    sentencex 1.0.32 fails on a capital letter, wide white space and a full stop ("plan B", a no-break space, "."): it takes
    all white space for one byte. Such a text is cut as if its white space were plain.
    """
    try:
        found: list[str] = sentencex.segment(language, text)
    except BaseException as error:
        # A class of the extension that cannot be imported, and no ``Exception``: a request or a worker would end with it.
        if type(error).__name__ != "PanicException":
            raise
        found = sentencex.segment(language, _WIDE_SPACE.sub(" ", text))
    return found


def _find_ends(line: str, pieces: list[str], language: str) -> Iterator[int]:
    """Where sentencex's pieces end, except the ends that the rules take back."""
    start = end = 0
    for piece, after in pairwise(pieces):
        end += len(piece)
        if not is_taken_back(line, start, end, after, language):
            start = skip_emoji(line, end)
            yield start
    yield len(line)


def prepare_interview(read: ReadInterview) -> list[list[SentenceRow]]:
    """Cut every turn into sentences, in the order of the turns."""
    position = 0
    sentences = []
    for turn in read.turns:
        cut = list(cut_turn(turn, language=read.language, after=position))
        position += len(cut)
        sentences.append(cut)
    return sentences


def cut_turn(turn: ReadTurn, *, language: str, after: int) -> Iterator[SentenceRow]:
    """The sentences of one turn, numbered on from ``after``; a call or a result of a tool is one."""
    text = turn.text
    if turn.channel in TOOL_KINDS:
        if words := text.strip():
            start = len(text) - len(text.lstrip())
            yield after + 1, start, start + len(words), TOOL_KINDS[turn.channel], hash_quote(words)
        return
    for position, span in enumerate(segment(text, language), after + 1):
        quote = text[span.start : span.end]
        yield position, span.start, span.end, str(span.kind), hash_quote(quote)


def is_answer(turn: ReadTurn, *, kind: str) -> bool:
    """Whether coders decide on a turn of a thread of this ``kind``: what models say, and in trajectories their calls."""
    return turn.role == "model" and (
        turn.channel == "utterance" or (turn.channel == "tool_call" and kind == "trajectory")
    )


def hash_quote(text: str) -> str:
    """The first 32 hex digits of the SHA-256 of a quoted text: enough to show that an offset has shifted."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
