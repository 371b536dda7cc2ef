"""Markdown inside a paragraph, and a turn's sentences as formatted HTML that keeps every character of the text in its place."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from transcripts.corpus.pure.markdown_lines import Kind, find_lines

Span = tuple[int, int, str]
"""Where a stretch begins and ends, and its style."""

SYNTAX, STRONG, EMPHASIS, STRUCK, CODE = "syntax", "strong", "em", "del", "code"
LINK, IMAGE, ADDRESS = "link", "image", "address"

HAS_SIGN = re.compile(r"[*_`~\\\[<]")
_SIGN = re.compile(r"[*_`~\\\[\]<]")
_RUN = re.compile(r"\*+|_+|~+|`+")
_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")
_ANGLE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>")
# All quantifiers are possessive, so that a text of only brackets and spaces does not take quadratic time.
_CHARACTER = r"[^\s()\\]|\\."
_TITLE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'"
_DESTINATION = re.compile(
    rf"\(\s*+(?:<[^<>\n]*+>|(?!<)(?:{_CHARACTER}|\((?:{_CHARACTER})*+\))*+)(?:\s++(?:{_TITLE}))?+\s*+\)"
)
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

# The most frequent case: plain words in one or two stars, after only words or a bracket.
# It takes a fifth of the time of the general rules, which find the same.
_PLAIN = r"[^*_`~\\\[<]"
_STARRED = rf"(?<![^\s(])(\*\*?)(?=\w)({_PLAIN}*+)(?<=[\w.,:;!?)])\1(?=[\s.,:;!?)]|\Z)"
_IS_SIMPLE = re.compile(rf"(?:{_PLAIN}++|{_STARRED})*+")
_SIMPLE = re.compile(_STARRED)


@dataclass(slots=True)
class _Run:
    """A row of ``*``, ``_`` or ``~`` of which ``start`` to ``end`` is not used yet."""

    start: int
    end: int
    sign: str
    opens: bool
    closes: bool
    length: int

    def may_open(self, closer: _Run) -> bool:
        """Whether this run can open the emphasis that ``closer`` closes."""
        if not self.opens or self.sign != closer.sign:
            return False
        if not (self.closes or closer.opens) or self.sign == "~":
            return True
        return (self.length + closer.length) % 3 != 0 or (self.length % 3 == 0 and closer.length % 3 == 0)


@dataclass(slots=True)
class _Bracket:
    """A ``[`` or ``![`` that may begin a link; ``runs`` is the number of runs before it."""

    start: int
    end: int
    runs: int
    is_active: bool = True


def find_inline(text: str) -> list[Span]:
    """The styled stretches of one block of Markdown, unordered; none is empty, and they nest without crossing.

    Stretches of "syntax" are the signs that set the style of their neighbours, not text to read. markdown-it-py reads the
    blocks of a turn (``markdown_lines``), but its inline tokens do not say where they are in the text, and the desk counts
    characters. So this module implements CommonMark's rules for emphasis, code spans, inline links, images, links in angle
    brackets and backslashes, and GitHub's for ``~~struck out~~``. Raw HTML, entities, links by reference and bare addresses
    stay unchanged.
    """
    reading = _Reading(text)
    at = 0
    while found := _SIGN.search(text, at):
        at = reading.take(found.start())
    reading.pair_runs(0)
    return reading.spans


class _Reading:
    """The state of parsing one text."""

    def __init__(self, text: str) -> None:
        self.spans: list[Span] = []
        self._text = text
        self._runs: list[_Run] = []
        self._brackets: list[_Bracket] = []
        self._ticks: dict[int, list[int]] | None = None

    def take(self, start: int) -> int:
        """Record what begins with the sign at ``start``, and return where to continue."""
        text, sign = self._text, self._text[start]
        if sign == "[":
            begin = start - 1 if start and text[start - 1] == "!" and not self._is_escaped(start - 1) else start
            self._brackets.append(_Bracket(begin, start + 1, len(self._runs)))
        elif sign == "]":
            return self._take_link(start, start + 1)
        elif sign == "\\":
            if _ESCAPE.match(text, start):
                self.spans.append((start, start + 1, SYNTAX))
                return start + 2
        elif sign == "<":
            if found := _ANGLE.match(text, start):
                self._wrap((start, start + 1), LINK, (found.end() - 1, found.end()))
                return found.end()
        elif found := _RUN.match(text, start):
            if sign == "`":
                return self._take_code(start, found.end())
            self._take_run(start, found.end())
            return found.end()
        return start + 1

    def _is_escaped(self, place: int) -> bool:
        return bool(self.spans) and self.spans[-1] == (place - 1, place, SYNTAX)

    def _wrap(self, before: tuple[int, int], style: str, after: tuple[int, int]) -> None:
        """Style the text between two pieces of syntax."""
        self.spans += [(*before, SYNTAX), (*after, SYNTAX)]
        if before[1] < after[0]:
            self.spans.append((before[1], after[0], style))

    def _take_code(self, start: int, end: int) -> int:
        """A code span ends at the next run of the same number of backticks. One space at both its ends is syntax."""
        if self._ticks is None:
            self._ticks = defaultdict(list)
            for row in re.finditer("`+", self._text):
                self._ticks[row.end() - row.start()].append(row.start())
        rows = self._ticks.get(end - start, [])
        place = bisect_left(rows, end)
        if place == len(rows):
            return end
        stop = rows[place]
        content = self._text[end:stop].replace("\n", " ")
        space = 1 if content.startswith(" ") and content.endswith(" ") and content.strip(" ") else 0
        after = stop + end - start
        self._wrap((start, end + space), CODE, (stop - space, after))
        return after

    def _take_run(self, start: int, end: int) -> None:
        text, sign = self._text, self._text[start]
        if sign == "~" and end - start != 2:
            return
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        space_before, space_after = before.isspace(), after.isspace()
        point_before, point_after = _is_punctuation(before), _is_punctuation(after)
        is_left = not space_after and (not point_after or space_before or point_before)
        is_right = not space_before and (not point_before or space_after or point_after)
        opens, closes = is_left, is_right
        if sign == "_":
            opens = is_left and (not is_right or point_before)
            closes = is_right and (not is_left or point_after)
        if opens or closes:
            self._runs.append(_Run(start, end, sign, opens, closes, end - start))

    def _take_link(self, start: int, end: int) -> int:
        """A ``]``: with an address after it, it ends the link or image that the last bracket began."""
        if not self._brackets:
            return end
        bracket = self._brackets.pop()
        address = _DESTINATION.match(self._text, end) if bracket.is_active else None
        if address is None:
            return end
        is_image = bracket.end - bracket.start > 1
        self._wrap((bracket.start, bracket.end), IMAGE if is_image else LINK, (start, end))
        self.spans.append((*address.span(), ADDRESS))
        self.pair_runs(bracket.runs)
        if not is_image:
            # A link contains no other link. If a bracket cannot begin a link, the brackets before it cannot either.
            for outer in reversed(self._brackets):
                if outer.end - outer.start == 1:
                    if not outer.is_active:
                        break
                    outer.is_active = False
        return address.end()

    def pair_runs(self, bottom: int) -> None:
        """Turn the runs from ``bottom`` on into emphasis if they pair; the others stay text."""
        runs = self._runs
        # Below these places no run can open emphasis that a closer of this kind closes.
        floors: dict[tuple[str, bool, int], int] = {}
        place = bottom
        while place < len(runs):
            closer = runs[place]
            if not closer.closes:
                place += 1
                continue
            kind = (closer.sign, closer.opens, closer.length % 3)
            floor = floors.get(kind, bottom)
            opening = next((each for each in range(place - 1, floor - 1, -1) if runs[each].may_open(closer)), None)
            if opening is None:
                floors[kind] = place
                if closer.opens:
                    place += 1
                else:
                    del runs[place]
                continue
            opener = runs[opening]
            self._style(opener, closer)
            del runs[opening + 1 : place]
            place = opening + 1
            if opener.start == opener.end:
                del runs[opening]
                place -= 1
            if closer.start == closer.end:
                del runs[place]
            for each, lowest in floors.items():
                floors[each] = min(lowest, place)
        del runs[bottom:]

    def _style(self, opener: _Run, closer: _Run) -> None:
        size = 2 if min(opener.end - opener.start, closer.end - closer.start) > 1 else 1
        style = STRUCK if closer.sign == "~" else STRONG if size > 1 else EMPHASIS
        before, after = (opener.end - size, opener.end), (closer.start, closer.start + size)
        opener.end, closer.start = before[0], after[1]
        self._wrap(before, style, after)


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def has_markdown(text: str) -> bool:
    """Whether a turn may have Markdown, so that `write_units` has to do more than escape it; a cheap check."""
    # A tenth of the time that the regular expression takes.
    return any(sign in text for sign in "|*_`~\\[<")


def write_units(text: str, units: Sequence[Unit], *, stand_alone: bool = True) -> list[str]:
    """Each unit of ``text``, a turn, as HTML.

    Its ``textContent`` in a browser is exactly the unit, because codings, quotes and boundary edits count characters. Signs
    such as ``**`` are in ``<span class="syntax">``, which the style sheet hides or shows. The HTML is inert: it has no links,
    no images and no HTML from the text.

    Emphasis may span several sentences of a paragraph or list item; it is closed and opened again between them. Lines of code
    stay as they are. A separate unit that consists only of signs shows them.
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
    """A stretch of a turn as HTML, with the text before and after it; line breaks as ``<br>``."""
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
    """The marker of a list in ``text[start:end]``, the gap before a sentence of the list.

    Its number or letter; empty for a bullet; None if there is no marker, because an item continues.
    """
    marker = text[start:end].rpartition("\n")[2].strip()
    if not marker:
        return None
    number = _NUMBER.search(marker)
    return number[0] if number else ""


def _group(text: str, units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Group the units by block: sentences of one paragraph or item together, everything else alone."""
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
    """Write pieces of one block of Markdown, in order. A style that extends over several is closed and opened again."""
    # At one place, ends come before beginnings: inner ends before outer ones, outer beginnings before inner ones.
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
        # If only signs are left, they are shown as text.
        written.append("".join(parts) if has_words or not stand_alone else escape(text[start:end]))
    return written


def _follow(event: tuple[int, int, int, str], styles: list[str]) -> None:
    """Keep track of the open styles, outermost first."""
    if event[1]:
        styles.append(event[3])
    else:
        styles.pop()


def _write_row(text: str, *, is_head: bool) -> str:
    """Write a row of a table: its cells, and the separators between them."""
    edges = [0, *(edge for pipe in _PIPE.finditer(text) for edge in pipe.span()), len(text)]
    cells = [_strip(text, start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    # The text before the first pipe and after the last is a cell only if it is not blank.
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
    """A stretch without white space at its ends; an empty one is placed at its end."""
    content = text[start:end]
    stop = start + len(content.rstrip())
    return (stop - len(content.strip()), stop) if content.strip() else (end, end)
