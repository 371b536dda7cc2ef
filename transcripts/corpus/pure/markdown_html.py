"""Sentences of a turn as HTML in which Markdown shows, while every character of the text stays in its place.

The text of what is written here (``textContent`` in a browser) is the sentence to the character, because codings, quotes
and boundary edits count characters. Signs such as ``**`` lie in ``<span class="syntax">``, for the style sheet to hide
or show. Nothing that is written here acts: no link, no image, no HTML of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from transcripts.corpus.pure.markdown_inline import HAS_SIGN, SYNTAX, find_inline
from transcripts.corpus.pure.markdown_lines import Kind, find_lines

Unit = tuple[int, int, str]
"""Where a sentence begins and ends in the text of its turn, and its kind."""

TAGS = {
    "strong": ("<strong>", "</strong>"),
    "em": ("<em>", "</em>"),
    "del": ("<del>", "</del>"),
    "code": ("<code>", "</code>"),
    **{name: (f'<span class="{name}">', "</span>") for name in ("syntax", "link", "image", "address")},
}
_AS_IT_STANDS = {Kind.CODE, Kind.OTHER}
_FLOWING = {Kind.PROSE, Kind.LIST_ITEM}
_SAME_BLOCK = re.compile(r"[^\S\n]*\n?[^\S\n]*\Z")
_UNDER_HEAD = re.compile(r"[ \t]*(?:\r\n|\n|\r)[ \t>|:-]*-[ \t|:-]*[\r\n]")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_PIPE = re.compile(r"(?<!\\)\|")

_NUMBER = re.compile(r"(?:\d{1,3}[.)]|\((?:[A-Za-z]|\d{1,2}|[ivx]{2,4})\)\.?|(?:[A-Za-z]|[ivx]{2,4})\)\.?)\Z")

# What models write most: words in one or two stars with nothing else in them and nothing but words or a bracket before.
# It takes a fifth of the time of the rules for everything, which find the same.
_PLAIN = r"[^*_`~\\\[<]"
_STARRED = rf"(?<![^\s(])(\*\*?)(?=\w)({_PLAIN}*+)(?<=[\w.,:;!?)])\1(?=[\s.,:;!?)]|\Z)"
_IS_SIMPLE = re.compile(rf"(?:{_PLAIN}++|{_STARRED})*+")
_SIMPLE = re.compile(_STARRED)


def has_markdown(text: str) -> bool:
    """Whether `write_units` may have anything to do but to escape: a cheap look at a turn."""
    # A tenth of the time that the regular expression takes.
    return any(sign in text for sign in "|*_`~\\[<")


def write_units(text: str, units: Sequence[Unit], *, stand_alone: bool = True) -> list[str]:
    """Each unit of ``text``, a turn, as HTML.

    Emphasis may reach over several sentences of a paragraph or a list item; it is closed and opened again between them.
    Lines of code stay as they are. Where each unit stands alone, one of nothing but signs shows them.
    """
    written: list[str] = []
    for block in _group(text, units):
        start, end, kind = block[0][0], block[-1][1], block[0][2]
        if kind == Kind.TABLE_ROW:
            written.append(_write_row(text[start:end], is_head=_UNDER_HEAD.match(text, end) is not None))
        elif kind in _AS_IT_STANDS or not HAS_SIGN.search(text, start, end):
            written += [escape(text[start:end]) for start, end, _ in block]
        else:
            written += _write_block(text, block, stand_alone=stand_alone)
    return written


def write_passage(text: str, start: int, end: int) -> tuple[str, str, str]:
    """A stretch of a turn as HTML, with what is before and after it; line breaks as ``<br>``."""
    parts = ["", "", ""]
    edges = [0, start, end, len(text)]
    if has_markdown(text):
        cuts = [
            (max(line.start, low), min(line.end, high), line.kind)
            for line in find_lines(text)
            for low, high in pairwise(edges)
        ]
        units = [unit for unit in cuts if unit[0] < unit[1]]
    else:
        units = []
    at = 0
    for (begin, stop, _), html in zip(
        [*units, (len(text), len(text), "")], [*write_units(text, units, stand_alone=False), ""], strict=True
    ):
        for place, (low, high) in enumerate(pairwise(edges)):
            parts[place] += _break_lines(escape(text[max(at, low) : min(begin, high)]))
            parts[place] += _break_lines(html) if low <= begin < high else ""
        at = stop
    return parts[0], parts[1], parts[2]


def _break_lines(html: str) -> str:
    return _LINE_BREAK.sub("<br>", html)


def read_marker(text: str, start: int, end: int) -> str | None:
    """What stands before a sentence of a list in ``text[start:end]``, the gap behind the sentence before it.

    Its number or letter; nothing for a bullet; None where there is no marker, because an item goes on.
    """
    marker = text[start:end].rpartition("\n")[2].strip()
    if not marker:
        return None
    number = _NUMBER.search(marker)
    return number[0] if number else ""


def _group(text: str, units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """The units block by block: sentences of one paragraph or item together, everything else alone."""
    block: list[Unit] = []
    for unit in units:
        if block:
            last = block[-1]
            flows = unit[2] in _FLOWING and last[2] == unit[2]
            if not (flows and _SAME_BLOCK.match(text, last[1], unit[0])):
                yield block
                block = []
        block.append(unit)
    if block:
        yield block


def _write_block(text: str, block: Sequence[Unit], *, stand_alone: bool) -> list[str]:
    pieces = [text[start:end] for start, end, _ in block]
    if all(_IS_SIMPLE.fullmatch(piece) for piece in pieces):
        return [_SIMPLE.sub(_write_starred, escape(piece)) if "*" in piece else escape(piece) for piece in pieces]
    offset = block[0][0]
    places = [(start - offset, end - offset) for start, end, _ in block]
    return _write_pieces(text[offset : block[-1][1]], places, stand_alone=stand_alone)


def _write_starred(found: re.Match[str]) -> str:
    stars, words = found.groups()
    tag = "em" if len(stars) == 1 else "strong"
    return f'<span class="syntax">{stars}</span><{tag}>{words}</{tag}><span class="syntax">{stars}</span>'


def _write_pieces(text: str, pieces: Sequence[tuple[int, int]], *, stand_alone: bool = True) -> list[str]:
    """Pieces of one block of Markdown, in order. What begins in one and ends in another is closed and opened again."""
    # At one place what ends comes before what begins, inner before outer where it ends, outer before inner where it begins.
    events = [
        event for start, end, style in find_inline(text) for event in ((start, 1, -end, style), (end, 0, -start, style))
    ]
    events.sort()
    written = []
    styles: list[str] = []
    place = 0
    for start, end in pieces:
        while place < len(events) and events[place][0] <= start:
            _follow(events[place], styles)
            place += 1
        parts = [TAGS[style][0] for style in styles]
        at, has_words = start, False
        while place < len(events) and events[place][:2] < (end, 1):
            to, begins, _, style = event = events[place]
            if at < to:
                parts.append(escape(text[at:to]))
                has_words = has_words or styles[-1:] != [SYNTAX]
                at = to
            parts.append(TAGS[style][0 if begins else 1])
            _follow(event, styles)
            place += 1
        if at < end:
            parts.append(escape(text[at:end]))
            has_words = has_words or styles[-1:] != [SYNTAX]
        parts += [TAGS[style][1] for style in reversed(styles)]
        # Where only signs are left, they are what there is to read.
        written.append("".join(parts) if has_words or not stand_alone else escape(text[start:end]))
    return written


def _follow(event: tuple[int, int, int, str], styles: list[str]) -> None:
    """Keep count of the styles that are open, outermost first."""
    if event[1]:
        styles.append(event[3])
    else:
        styles.pop()


def _write_row(text: str, *, is_head: bool) -> str:
    """A row of a table: its cells, and between them what parts them."""
    edges = [0, *(edge for pipe in _PIPE.finditer(text) for edge in pipe.span()), len(text)]
    cells = [_strip(text, start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    # What is before the first pipe and after the last is a cell only where something is written there.
    cells = [cell for place, cell in enumerate(cells) if cell[0] < cell[1] or 0 < place < len(cells) - 1]
    if len(cells) < 2 or all(start == end for start, end in cells):
        return escape(text)
    before, after = TAGS[SYNTAX]
    written: list[str] = []
    at = 0
    for start, end in cells:
        if at < start:
            written.append(f"{before}{escape(text[at:start])}{after}")
        content = text[start:end]
        [inside] = _write_pieces(content, [(0, len(content))])
        written.append(f'<span class="cell">{inside}</span>')
        at = end
    if at < len(text):
        written.append(f"{before}{escape(text[at:])}{after}")
    return f'<span class="cells{" head" if is_head else ""}">{"".join(written)}</span>'


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the white space at its ends; an empty one lies at its end."""
    content = text[start:end]
    stop = start + len(content.rstrip())
    return (stop - len(content.strip()), stop) if content.strip() else (end, end)
